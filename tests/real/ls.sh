# ls -lR of many files.
. "$(dirname "$0")/../lib.sh"
if [ "${TW_FULL:-0}" = 1 ]; then
	whole ls -lR /usr/share/doc
else
	whole ls -lR /usr/share/common-licenses /usr/lib/apt /usr/share/perl
fi

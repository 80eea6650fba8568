# grep -r over a tree of files.
. "$(dirname "$0")/../lib.sh"
if [ "${TW_FULL:-0}" = 1 ]; then
	whole grep -rn 'memory' /usr/include
else
	whole grep -rn 'size_t' /usr/include/x86_64-linux-gnu/sys /usr/include/x86_64-linux-gnu/bits
fi
whole grep -c -i 'free \(software\|documentation\)' /usr/share/common-licenses/GPL-3

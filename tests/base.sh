# What the tests (tests/lib.sh) and the applications' scripts (bench/apps/lib.sh) share.
#
# $ROOT, $BUILD, $TW (the program under test); an environment that is the same everywhere; and these functions.
set -u
ROOT=${ROOT:-$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")}
BUILD=$(realpath -m "${BUILD:-$ROOT/build}")
TW=$BUILD/trackway
export LC_ALL=C TZ=UTC
# Debian's own programs come first, as tools/setup installs them. The python3 of a version manager starts four shells to find itself: 9,000 page faults in the place of 800, and more when it is recorded.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH

# own_directory PREFIX: makes a directory, its name in $TMP, and enters it. At the end what is in CLEANUP is done, and the directory removed.
CLEANUP=()
at_exit() {
	local c
	for c in "${CLEANUP[@]}"; do eval "$c"; done
	cd / && rm -rf "$TMP"
}
own_directory() {
	TMP=$(mktemp -d "${TMPDIR:-/tmp}/$1.XXXXXX") || exit 1
	trap at_exit EXIT
	cd "$TMP" || exit 1
}

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

# What Trackway itself says on standard error begins like this.
OWN_LINE='^\(trackway\( [a-z]*\)\?\|verify\): '

# clean_verify FILE: in FILE, standard error of a run with --verify, Trackway says that all references were equal, and complains of nothing
clean_verify() {
	grep -aq '^verify: .* all equal$' "$1" && ! grep -a "$OWN_LINE" "$1" | grep -qiE 'mismatch|incomplete'
}

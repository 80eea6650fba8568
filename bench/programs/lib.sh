# Shared functions of the scripts bench/programs/NAME.sh, each of which says how one program is built from Debian's source and tested with its own tests.
# Such a script defines
#     PACKAGE       its Debian source package; without one, `sources` makes the sources
#     build         in the sources, with the compilers in $CC, $CXX and $FC, which are to be named once: in configure, or for make
#     own_tests     its tests. What they print is compared, so it prints nothing that differs from run to run
#     WORK          a command for bench/cc to time, in the directory it was built in; $DATA is a file of real data
# and ends with `compare`. That builds it twice, plain and with trackway cc, in $PROGRAMS (build/programs), where both are kept, and runs the tests of both: of
# the second by itself, with TRACKWAY=off, and recorded. MODES="alone off count" are those that are run. TIMEOUT: of one run of the tests, in seconds (600).
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/base.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../source.sh"
NAME=$(basename "$0" .sh)
PROGRAMS=$(realpath -m "${PROGRAMS:-$BUILD/programs}")
MODES=${MODES:-alone off count}
TIMEOUT=${TIMEOUT:-600}
COMPILERS=${COMPILERS:-gcc g++ gfortran} # of C, C++ and Fortran
CFLAGS=${CFLAGS:--O2 -g}
export DATA=${DATA:-/dev/null} CFLAGS CXXFLAGS="$CFLAGS" FCFLAGS="$CFLAGS"

# say WHAT...: the script's line, and what it ends with
say() { printf '%-5s %-10s %s\n' "$1" "$NAME" "${*:2}"; }
need() {
	local c
	for c; do
		command -v "$c" >/dev/null || {
			say SKIP "no $c here (tools/setup programs)"
			exit 77
		}
	done
}

# A variant is `plain`; `cc`, with trackway cc; or `none`, with trackway cc --refs none. set_compilers VARIANT: CC, CXX, FC and LAUNCHERS
set_compilers() {
	local front=
	case $1 in
	cc) front="$TW cc ${CC_OPTIONS:-} " ;;
	none) front="$TW cc --refs none ${CC_OPTIONS:-} " ;;
	esac
	# shellcheck disable=SC2086
	set -- $COMPILERS
	export CC=$front$1 CXX=$front$2 FC=$front$3
	LAUNCHERS=() # options of CMake
	if [ -n "$front" ]; then
		local language words
		read -ra words <<<"$front"
		front=$(IFS=';' && echo "${words[*]}")
		for language in C CXX Fortran; do LAUNCHERS+=("-DCMAKE_${language}_COMPILER_LAUNCHER=$front" "-DCMAKE_${language}_LINKER_LAUNCHER=$front"); done
	fi
}

# build_as VARIANT: the program in $PROGRAMS/NAME.VARIANT, if it is not there yet
build_as() {
	local dir=$PROGRAMS/$NAME.$1
	[ -e "$dir/.built" ] && return
	rm -rf "$dir" && mkdir -p "$dir" && cd "$dir" || exit 1
	if [ -n "${PACKAGE:-}" ]; then debian_source "$PACKAGE" "$dir"; else sources; fi || {
		say SKIP "its source cannot be fetched (deb-src)"
		exit 77
	}
	set_compilers "$1"
	(build) >"$dir.log" 2>&1 </dev/null || {
		tail -n 5 "$dir.log"
		say FAIL "$1: it does not build: $dir.log"
		exit 1
	}
	touch "$dir/.built"
}

# test_as VARIANT MODE: runs the tests, what they print to NAME.MODE.out; their status in STATUS
test_as() {
	local prefix=() out=$PROGRAMS/$NAME.$2
	cd "$PROGRAMS/$NAME.$1" || exit 1
	set_compilers "$1"
	case $2 in
	off) export TRACKWAY=off ;;
	count) prefix=("$TW" record -q --native --sink=count -o "$out.tw" --) ;;
	esac
	export -f own_tests
	rm -rf "$out.tw"
	"${prefix[@]}" timeout "$TIMEOUT" bash -c own_tests >"$out.out" 2>"$out.err" </dev/null
	STATUS=$?
	unset TRACKWAY
}

compare() {
	local mode wanted failed=0 recorded
	mkdir -p "$PROGRAMS"
	if [ "${1:-}" = work ]; then # work VARIANT: builds it, and prints the directory and WORK, for bench/cc
		build_as "$2" >&2
		printf '%s\0' "$PROGRAMS/$NAME.$2" "${WORK[@]}"
		exit
	fi
	build_as plain
	build_as cc
	test_as plain plain
	wanted=$STATUS
	for mode in $MODES; do
		test_as cc "$mode"
		[ "$STATUS" = "$wanted" ] && cmp -s "$PROGRAMS/$NAME.plain.out" "$PROGRAMS/$NAME.$mode.out" && continue
		diff -a "$PROGRAMS/$NAME.plain.out" "$PROGRAMS/$NAME.$mode.out" | head -n 10
		say FAIL "$mode: status $STATUS, plain $wanted; output in $PROGRAMS/$NAME.$mode.out"
		failed=1
	done
	[ $failed = 0 ] || exit 1
	recorded=$("$TW" info "$PROGRAMS/$NAME.count.tw" 2>/dev/null | awk '$1 == "blocks" { print $2 }')
	say PASS "status $wanted, $(wc -l <"$PROGRAMS/$NAME.plain.out") lines; ${recorded:-no} blocks recorded; $(grep -c 'is not instrumented' "$PROGRAMS/$NAME.cc.log") functions or files left alone"
}

# Of the tests of `trackway cc`, over lib.sh.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# make_work_h: work.h has work(n), a loop that reads and writes a table
make_work_h() {
	cat >work.h <<-'X'
		static volatile int t[256];
		__attribute__((noinline)) static int work(int n)
		{
			int s = 0;
			for (int i = 0; i < n; i++) {
				t[(i * 31) & 255] += i;
				s += t[t[i & 255] & 255];
			}
			return s;
		}
	X
}

# instrumented NAME COMPILER ARGUMENT...: compiles ./NAME.plain with COMPILER and ./NAME with trackway cc in front of it; CC_OPTIONS: of its own
instrumented() {
	"${@:2}" -o "$1.plain" 2>compile.err || {
		cat compile.err
		fail "${*:2}: does not compile"
	}
	instrument "$@"
}

# instrument NAME COMPILER ARGUMENT...: ./NAME only
instrument() {
	local name=$1
	shift
	# shellcheck disable=SC2086
	"$TW" cc ${CC_OPTIONS:-} "$@" -o "$name" 2>compile.err || {
		cat compile.err
		fail "trackway cc $*: fails"
	}
	[ ! -s compile.err ] || {
		cat compile.err
		fail "trackway cc $*: says something"
	}
}

# runs_as_plain NAME ARGUMENT...: it does what NAME.plain does: alone, with TRACKWAY=off, recorded. The recording is whole
runs_as_plain() {
	local name=$1
	shift
	native "./$name.plain" "$@"
	run recorded.out recorded.err "./$name" "$@"
	RECORDED_STATUS=$?
	compare_runs "$name by itself"
	run recorded.out recorded.err env TRACKWAY=off "./$name" "$@"
	RECORDED_STATUS=$?
	compare_runs "$name with TRACKWAY=off"
	recorded "./$name" "$@"
	compare_runs "$name recorded"
	check_good
}

# same_as_engine NAME ARGUMENT...: what it records is what the engine sees of the same instructions. It is not position-independent
same_as_engine() {
	local name=$1
	rm -rf own.tw engine.tw
	setarch -R "$TW" record -q -o own.tw -- "./$@" >/dev/null 2>&1
	setarch -R "$TW" record -q --rest -o engine.tw -- "./$@" >/dev/null 2>&1
	python3 "$ROOT/tests/same_references.py" "$TW" "$name" own.tw engine.tw || fail "$name: references"
}

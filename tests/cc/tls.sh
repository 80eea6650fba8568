# Thread-local variables: linkers replace the instructions that come to them, of each model and dialect, with others, which refer to other memory.
. "$(dirname "$0")/../cc.sh"
need_command gcc setarch python3 nm
cat >shared.c <<'X'
__thread int shared = 8;
int *address(void)
{
	return &shared;
}
X
cat >v.c <<'X'
#include <stdio.h>
extern __thread int shared;
__thread int seen = 3;
static __thread int own = 4, second = 5;
int *address(void);
__attribute__((noinline)) int step(int n)
{
	shared += n;
	seen += shared;
	own ^= seen;
	second += own;
	return shared + own;
}
int main(void)
{
	int s = 0;
	for (int i = 0; i < 5; i++)
		s += step(i);
	printf("%d %d %d\n", s, second, *address());
	return 0;
}
X
gcc -shared -fPIC -O2 shared.c -o libshared.so || fail "libshared.so"

# step_refs RECORDING: instruction, kind and size of the references that step() makes
step_refs() {
	local from size
	read -r from size < <(nm -S v | awk '$4 == "step" { print $1, $2 }')
	"$TW" dump --thread 0 "$1" | python3 -c 'import sys
first, size = (int(x, 16) for x in sys.argv[1:])
print("\n".join(" ".join((l[1], l[2], l[4])) for l in map(str.split, sys.stdin) if first <= int(l[1], 16) < first + size))' "$from" "$size"
}

# through COMPILER FLAG...: its references are the engine's of the same instructions, and all of them. What is not installed is passed over
through() {
	if ! "$@" -no-pie v.c ./libshared.so -o probe 2>/dev/null; then
		untested "$*"
		return
	fi
	instrumented v "$@" -no-pie v.c ./libshared.so
	runs_as_plain v
	same_as_engine v
	rm -rf rest.tw
	"$TW" record -q --rest -o rest.tw -- ./v >/dev/null || fail "$*: --rest"
	step_refs own.tw >own.refs
	step_refs rest.tw >rest.refs
	[ "$(wc -l <own.refs)" -ge 40 ] || fail "$*: $(wc -l <own.refs) references of step"
	diff own.refs rest.refs >difference || fail "$*: references that the engine sees: $(head -n 5 difference)"
}
through gcc -O2 -fPIC
through gcc -O2 -fPIC -fno-plt
through gcc -O1 -fPIC -mtls-dialect=gnu2
through gcc -O2 -fPIC -mcmodel=large
through gcc -O2 -fPIC -fuse-ld=lld -Wl,-u,_end

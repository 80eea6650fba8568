# Thread-local variables: linkers replace the instructions that come to them, of each model and dialect, with others, which are fewer or refer to other memory.
. "$(dirname "$0")/../cc.sh"
need_command gcc setarch python3
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

# through COMPILER FLAG...: its references are the engine's of the same instructions. What is not installed is passed over
through() {
	if ! "$@" -no-pie v.c ./libshared.so -o probe 2>/dev/null; then
		untested "$*"
		return
	fi
	instrumented v "$@" -no-pie v.c ./libshared.so
	runs_as_plain v
	same_as_engine v
	[ "$("$TW" dump own.tw | wc -l)" -ge 40 ] || fail "$*: too few references"
}
through gcc -O2 -fPIC
through gcc -O2 -fPIC -fno-plt
through gcc -O1 -fPIC -mtls-dialect=gnu2
through gcc -O2 -fPIC -mcmodel=large
through gcc -O2 -fPIC -fuse-ld=lld -Wl,-u,_end

# What compilers keep below the stack: a call that is inserted leaves it alone, also where inline assembly makes calls that compilers do not see.
. "$(dirname "$0")/../cc.sh"
# timeout: 240
need_command gcc nm
cat >b.c <<'X'
#include <stdio.h>
asm(".text\n.type helper,@function\nhelper: ret\n.size helper,.-helper\n");
__attribute__((noinline)) static long leaf(long n)
{
	volatile long a[12];
	for (int i = 0; i < 12; i++)
		a[i] = i + n;
	for (long i = 0; i < n; i++) {
		asm volatile("leaq -128(%%rsp),%%rsp\n\tcall helper\n\tleaq 128(%%rsp),%%rsp" ::: "memory", "cc");
		a[i % 12] += i;
	}
	return a[0] + a[1] * 3 + a[5] * 5 + a[7] * 7 + a[11] * 11;
}
__attribute__((noinline)) static long quiet(long n)
{
	volatile long a[12];
	for (int i = 0; i < 12; i++)
		a[i] = i * n;
	for (long i = 0; i < n; i++)
		if (a[i % 12] & 1)
			a[i % 12] += i;
		else
			a[i % 12] ^= n;
	return a[0] + a[1] * 3 + a[5] * 5 + a[7] * 7 + a[11] * 11;
}
/* Calls, so has nothing there; the flags of one comparison are in use where the loop begins. */
__attribute__((noinline)) static long caller(long n)
{
	long s = 0;
	for (long i = 0; i < n; i++) {
		s += quiet(i % 7);
		for (long k = i; k & 3; k++)
			s ^= k;
	}
	return s;
}
int main(void)
{
	printf("%ld %ld %ld\n", leaf(100000), quiet(100000), caller(5000));
	return 0;
}
X
for flags in -O2 "-O1 -fPIC -fno-omit-frame-pointer"; do
	instrumented b gcc $flags b.c
	runs_as_plain b
done
if command -v clang >/dev/null; then
	instrumented b clang -O2 b.c
	runs_as_plain b
fi
"$TW" cc gcc -O2 b.c -o one || fail "gcc"
! nm one | grep -q tw_cc_turned || fail "code for functions in two versions is in a program without them"
"$TW" cc --switchable gcc -O2 b.c -o two || fail "gcc --switchable"
nm two | grep -q tw_cc_turned || fail "code for functions in two versions is missing"
"$TW" record -q -o two.tw ./two >two.out && ./one | cmp - two.out || fail "--switchable"

# Conventions of calling other than the ABI's: registers that a function keeps for its callers, or is given in others, are not the run-time part's.
. "$(dirname "$0")/../cc.sh"
need_command gcc setarch python3
cat >keeps.c <<'X2'
#include <stdio.h>
#ifdef __clang__
#define MOST __attribute__((preserve_most, noinline))
#define ALL __attribute__((preserve_all, noinline))
#else
#define MOST __attribute__((noinline))
#define ALL MOST
#endif
#define MS __attribute__((ms_abi, noinline))
static int table[256];
MOST void touch(long a)
{
	table[a & 255] += 3;
}
MOST void touch_some(long a)
{
	for (int k = 0; k < (a & 7); k++)
		table[a * k & 255] ^= k;
}
MOST long touch_twice(long a)
{
	if (a > 5)
		touch(a * 2);
	else
		table[a & 255]++;
	return a * 3 + table[a & 255];
}
ALL void scale(long a)
{
	double d = (double)a;
	for (int k = 0; k < (a & 7); k++) {
		d *= 1.5;
		table[a * k & 255] += (int)d & 3;
	}
}
MS long ms(long a, long b, long c, long d, long e, long f)
{
	long s = 0;
	for (long k = 0; k < (a & 15); k++)
		s += table[(b + k) & 255] + c * d - e + f;
	table[a & 255]++;
	return s;
}
static long (__attribute__((ms_abi)) *volatile ms_too)(long, long, long, long, long, long) = ms;
__attribute__((noinline)) static long from_sysv(long a, long b)
{
	long s = 0;
	for (int k = 0; k < 10; k++) {
		s += ms_too(a, b, k, a ^ b, s & 255, 3) + a * b;
		s ^= table[(s + b) & 255];
	}
	return s;
}
/* Six values in registers over each call. */
__attribute__((noinline)) static long hot(long *v, long n)
{
	unsigned long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
	for (long k = 0; k < n; k++) {
		a += (unsigned long)v[k], b ^= a + c, c += d * 3, d ^= e, e += f + (unsigned long)v[(k + (long)a) & 63], f ^= b;
		if (a & 1)
			touch((long)a);
		if (b & 2)
			touch_some((long)(b & 0xffff));
		if (c & 4)
			scale((long)(c & 0xffff));
		if (e & 16)
			a += (unsigned long)touch_twice((long)e & 15);
		v[(k + 7) & 63] += (long)((a ^ f) & 0xffff);
	}
	return (long)(a + b * 3 + c * 5 + d * 7 + e * 11 + f * 13);
}
int main(void)
{
	long v[64];
	unsigned long s = 0;
	for (int k = 0; k < 64; k++)
		v[k] = k * 37 % 91;
	for (int r = 0; r < 60; r++) {
		s += (unsigned long)hot(v, 64);
		s = s * 31 + (unsigned long)from_sysv(r, r * 5);
	}
	for (int k = 0; k < 256; k++)
		s = s * 33 + (unsigned)table[k];
	printf("%lx\n", s);
	return 0;
}
X2
kept() {
	instrumented keeps "$@" -fwrapv keeps.c
	runs_as_plain keeps
}
for compiler in "gcc -O2" "clang -O1 -fPIC"; do
	if command -v "${compiler%% *}" >/dev/null; then
		# shellcheck disable=SC2086
		kept $compiler
	else
		untested "$compiler"
	fi
done
if command -v clang >/dev/null; then
	kept clang -Os -no-pie
	same_as_engine keeps
fi

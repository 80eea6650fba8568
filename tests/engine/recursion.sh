# Deep recursion, long jumps over many frames, frames of many sizes, variable arguments.
. "$(dirname "$0")/../lib.sh"
cc_program deep -fno-optimize-sibling-calls <<'END'
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
static jmp_buf back;
__attribute__((noinline)) static long down(long n, long limit)
{
	volatile char room[32];
	room[n % 32] = (char)n;
	if (n == limit)
		return 0;
	if (n == 40000 && limit == 50001)
		longjmp(back, 7);
	return down(n + 1, limit) + room[n % 32];
}
__attribute__((noinline)) static int ackermann(int m, int n)
{
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
__attribute__((noinline)) static double sum(int n, ...)
{
	va_list a;
	double s = 0;
	va_start(a, n);
	while (n--)
		s += va_arg(a, double);
	va_end(a);
	return s;
}
__attribute__((noinline)) static unsigned variable(int n)
{
	char room[n];
	memset(room, n, (size_t)n);
	unsigned s = (unsigned char)room[n / 2];
	return n > 1 ? s + variable(n / 2) : s;
}
int main(void)
{
	printf("%ld\n", down(0, 50000));
	if (!setjmp(back))
		down(0, 50001);
	else
		puts("back");
	printf("%d %f %u\n", ackermann(2, 60), sum(9, 1., 2., 3., 4., 5., 6., 7., 8., 9.), variable(10000));
	return 0;
}
END
whole ./deep

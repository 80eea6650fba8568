# Instrumented C programs, compiled in many ways, do what the plain ones do, and record the references that the engine sees.
# timeout: 240
. "$(dirname "$0")/../cc.sh"
need_command gcc setarch python3
cat >p.c <<'X'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node {
	struct node *next;
	int v;
};
static __thread int per_thread = 3;
static const char *const names[] = {"a", "bb", "ccc", "dddd"};
static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
static int choose(int x)
{
	switch (x) {
	case 0:
		return 5;
	case 1:
		return puts("one");
	case 2:
		return per_thread++;
	case 3:
		return 77;
	case 4:
		return x * x;
	case 5:
		return fib(7);
	default:
		return -1;
	}
}
static double dot(const double *a, const double *b, int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}
static int walk(const char *program)
{
	static void *const at[] = {&&more, &&less, &&end};
	int n = 0;
	goto *at[*program++ - '0'];
more:
	n += 10;
	goto *at[*program++ - '0'];
less:
	n--;
	goto *at[*program++ - '0'];
end:
	return n;
}
int main(int argc, char **argv)
{
	int a[100];
	unsigned seed = 1;
	for (int i = 0; i < 100; i++) {
		seed = seed * 1103515245 + 12345;
		a[i] = seed >> 16 & 0x7fff;
	}
	qsort(a, 100, sizeof *a, compare);
	struct node *head = NULL;
	for (int i = 0; i < 50; i++) {
		struct node *n = malloc(sizeof *n);
		n->v = a[i];
		n->next = head;
		head = n;
	}
	long sum = 0;
	for (struct node *n = head; n; n = n->next)
		sum += n->v;
	double x[64], y[64];
	for (int i = 0; i < 64; i++) {
		x[i] = i;
		y[i] = 64 - i;
	}
	char copy[300];
	memset(copy, argc, sizeof copy);
	for (int i = 0; i < 7; i++)
		sum += choose(i) + (int)strlen(names[i & 3]);
	unsigned long long big = argc;
	__asm__("xorl %%ecx, %%ecx\n1:\tadcq $3, %0\n\tincl %%ecx\n\tcmpl $9, %%ecx\n\tjne 1b" : "+r"(big) : : "ecx", "cc");
	printf("%ld %d %d %g %d %d %llu %s\n", sum, fib(12), a[17], dot(x, y, 64), copy[3], walk("00100112"), big, argc > 1 ? argv[1] : "");
	return 3;
}
X
for flags in "-O2 -static" "-O0 -g" "-O3 -march=native -fcf-protection" "-O2 -fPIC"; do
	left_out "$flags" "-O2 -fPIC" && continue
	instrumented p gcc $flags -no-pie p.c
	runs_as_plain p word
	same_as_engine p
done
instrumented p gcc -O2 -pie -fPIE p.c
runs_as_plain p
if command -v clang-14 >/dev/null; then
	instrumented p clang-14 -O2 -no-pie p.c
	runs_as_plain p
	same_as_engine p
fi

# Control flow only; only some functions.
"$TW" cc --refs none gcc -O2 p.c -o p || fail "--refs none"
native ./p.plain
recorded ./p
compare_runs "--refs none"
[ "$(info_value refs)" = 0 ] || fail "--refs none records references"
[ "$(info_value blocks)" -gt 1000 ] || fail "--refs none records no blocks"
"$TW" cc --only fib gcc -O0 p.c -o p || fail "--only"
recorded ./p
"$TW" report recording.tw >report.out
grep -q fib report.out && ! grep -q choose report.out || fail "--only fib records something else"
# A loop that multiplies complex numbers: a function of the compiler's comes back to what was known before, whether or not it is called (each third product is none).
cat >complex.c <<'X'
#include <complex.h>
#include <math.h>
#include <stdio.h>
enum { N = 300 };
static double complex a[N], b[N], c[N];
__attribute__((noinline)) static void multiply(const double complex *x, const double complex *y, double complex *z, int n)
{
	for (int i = 0; i < n; i++) {
		double complex w = x[i] - y[i];
		z[i] = w * y[n - 1 - i];
		z[i] += x[i] / (y[i] + 3);
	}
}
int main(void)
{
	double sum = 0;
	for (int i = 0; i < N; i++) {
		a[i] = i % 3 ? i - 2 * I : INFINITY;
		b[i] = i + I * (i % 7);
	}
	for (int k = 0; k < 5; k++)
		multiply(a, b, c, N - k);
	for (int i = 0; i < N; i++)
		sum += isfinite(creal(c[i])) ? creal(c[i]) + cimag(c[i]) : 1;
	printf("%.6f\n", sum);
	return 0;
}
X
for flags in "-O2 -no-pie" "-O3 -no-pie" "-O0 -no-pie"; do
	instrumented complex gcc $flags complex.c -lm
	runs_as_plain complex
	same_as_engine complex
done

# Strings of arguments and environment stand above the stack's frames, and apart from them: they are as far away as the environment is longer.
cat >strings.c <<'X'
#include <stdio.h>
__attribute__((noinline)) static unsigned sum(const char *p)
{
	char copy[64];
	unsigned s = 1;
	for (int k = 0; p[k] && k < 63; k++) {
		copy[k] = p[k];
		s = s * 31 + (unsigned char)copy[k / 2];
	}
	return s;
}
int main(int argc, char **argv)
{
	unsigned s = 0;
	for (int k = 0; k < argc; k++)
		s ^= sum(argv[k]);
	printf("%x\n", s);
	return 0;
}
X
instrumented strings gcc -O1 -no-pie strings.c
for more in "" 1 12345678901; do
	export LONGER=$more
	same_as_engine strings abc "and more"
done

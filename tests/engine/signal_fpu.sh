# A handler that changes x87, SSE and AVX registers in its frame, where the signal came in a system call and where it came in code.
. "$(dirname "$0")/../lib.sh"
cc_program fpu -D_GNU_SOURCE -mavx -O1 <<'END2'
#include <immintrin.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
static void change(int signo, siginfo_t *i, void *context)
{
	(void)i;
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	fpregset_t f = ((ucontext_t *)context)->uc_mcontext.fpregs;
	uint64_t there;
	memcpy(&there, (char *)f + 512, 8);
	f->cwd ^= 0xc00;
	f->mxcsr ^= 0x6000;
	f->_xmm[3].element[0] = 0x1234;
	if (there & 4)
		memset((char *)f + 576 + 3 * 16, 0x56, 4);
	if (signo == SIGILL)
		g[REG_RIP] += 2;
}
static void show(const char *what, const uint32_t *ymm, uint16_t control)
{
	printf("%s: xmm3 %x, above %x, x87 %x, mxcsr %x\n", what, ymm[0], ymm[4], control, _mm_getcsr());
	_mm_setcsr(0x1f80);
	asm volatile("fninit");
}
#define RUN(what, insns, ...)                                                                                                \
	do {                                                                                                                   \
		asm volatile("vmovaps %2, %%ymm3\n" insns "\nvmovups %%ymm3, %0\nfnstcw %1" : "=m"(ymm), "=m"(control) : "x"(ones) __VA_ARGS__ : "rax", "rcx", "r11", "xmm3", "memory"); \
		show(what, ymm, control);                                                                                          \
	} while (0)
int main(void)
{
	struct sigaction a = {.sa_sigaction = change, .sa_flags = SA_SIGINFO};
	uint32_t ymm[8];
	uint16_t control;
	__m256 ones = _mm256_set1_ps(1);
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGILL, &a, NULL);
	asm volatile("fninit");
	for (int k = 0; k < 3; k++) {
		RUN("system call", "mov $200, %%eax\nsyscall", , "D"((long)getpid()), "S"((long)SIGUSR1));
		RUN("fault", "ud2");
		RUN("x87 used", "fldpi\nfstp %%st(0)\nud2");
	}
	return 0;
}
END2
grep -qw avx /proc/cpuinfo || { echo "this processor has no AVX"; exit 77; }
whole ./fpu

# Signal frames: what a handler may do to the extended state; and signals that look like faults but were sent.
. "$(dirname "$0")/../lib.sh"
need_cpu avx
cc_program frames -D_GNU_SOURCE -mavx <<'EOF'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
enum { MXCSR = 24, XMM5 = 240, SW_BYTES = 464, SIZE = SW_BYTES + 4, FEATURES = SW_BYTES + 8, HEADER = 512, AVX = 4 };
static const char *mode;
static char area[65536] __attribute__((aligned(64)));
static void say(const char *text) { (void)!write(1, text, strlen(text)); }
static void on_fault(int signo, siginfo_t *info, void *context)
{
	char text[200];
	const char *state = (char *)((ucontext_t *)context)->uc_mcontext.fpregs;
	snprintf(text, sizeof text, "signal %d, code %d, address %p; %g, mxcsr %x\n", signo, info->si_code, info->si_addr, *(float *)(state + XMM5),
	         *(unsigned *)(state + MXCSR));
	say(text);
	_exit(3);
}
static char *moved(const char *state, int by) { return memcpy(area + by, state, *(unsigned *)(state + SIZE)); }
static void change(int signo, siginfo_t *info, void *context)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	char *state = (char *)m->fpregs;
	(void)signo, (void)info;
	if (!strcmp(mode, "none"))
		m->fpregs = NULL;
	if (!strcmp(mode, "skewed"))
		m->fpregs = (void *)(state + 8);
	if (!strcmp(mode, "nowhere"))
		m->fpregs = (void *)64;
	if (!strcmp(mode, "legacy"))
		memset(state + SW_BYTES, 0, 48);
	if (!strcmp(mode, "header"))
		memset(state + HEADER, 0xff, 64);
	if (!strcmp(mode, "features"))
		*(unsigned *)(state + FEATURES) &= ~AVX;
	if (!strcmp(mode, "elsewhere"))
		m->fpregs = (void *)moved(state, 0);
	if (!strcmp(mode, "elsewhere-skewed"))
		m->fpregs = (void *)moved(state, 8);
	if (!strcmp(mode, "mxcsr"))
		memset(state + MXCSR, 0xff, 4);
}
static void state(void)
{
	float found[8];
	unsigned csr;
	const float three = 3;
	__asm__ volatile("vbroadcastss %2, %%ymm5; mov %3, %%eax; mov %4, %%edi; mov %5, %%esi; syscall; vmovups %%ymm5, %0; stmxcsr %1; vzeroupper"
	                 : "=m"(found), "=m"(csr)
	                 : "m"(three), "i"(SYS_kill), "r"(getpid()), "i"(SIGUSR1)
	                 : "rax", "rdi", "rsi", "rcx", "r11", "xmm5", "memory");
	printf("%g %g, mxcsr %x\n", found[0], found[7], csr);
}
static void tell(int signo, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d, code %d, address %p\n", signo, info->si_code, info->si_addr);
}
static void sent(void)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	struct sigaction a = {.sa_sigaction = tell, .sa_flags = SA_SIGINFO};
	for (int i = 0; i < 6; i++) {
		siginfo_t info = {.si_signo = signals[i], .si_code = 1};
		sigset_t set;
		info.si_addr = (void *)0x1234;
		sigaction(signals[i], &a, NULL);
		printf("%ld\n", syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signals[i], &info));
		info.si_code = SI_KERNEL;
		printf("%ld\n", syscall(SYS_rt_sigqueueinfo, getpid(), signals[i], &info));
		sigemptyset(&set);
		sigaddset(&set, signals[i]);
		sigprocmask(SIG_BLOCK, &set, NULL);
		printf("blocked %ld\n", syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signals[i], &info));
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
}
int main(int argc, char **argv)
{
	static char stack[65536];
	const stack_t ss = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction a = {.sa_sigaction = change, .sa_flags = SA_SIGINFO};
	mode = argv[argc - 1];
	if (!strcmp(mode, "sent"))
		sent();
	else {
		sigaltstack(&ss, NULL);
		sigaction(SIGUSR1, &a, NULL);
		a.sa_sigaction = on_fault;
		a.sa_flags |= SA_ONSTACK;
		sigaction(SIGSEGV, &a, NULL);
		state();
	}
	return 0;
}
EOF
ulimit -c 0
for mode in none skewed nowhere legacy header mxcsr features elsewhere elsewhere-skewed sent; do
	same_as_native ./frames $mode
done
verify_clean ./frames header
verify_clean ./frames legacy

# System calls of the 32-bit kind, made by 64-bit code with int 0x80: processes, memory, programs, signals.
. "$(dirname "$0")/../lib.sh"
# Where they are refused each is a fault, whatever it asks for.
cc_program refused -D_GNU_SOURCE <<'END2'
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
static sigjmp_buf back;
static void on_fault(int signo, siginfo_t *i, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	printf("signal %d, code %d, at %p, trap %lld, error %llx, before it %d\n", signo, i->si_code, i->si_addr, r[REG_TRAPNO], r[REG_ERR],
	       *(unsigned short *)r[REG_RIP] == 0x80cd);
	siglongjmp(back, 1);
}
static long call(long n)
{
	long r;
	if (sigsetjmp(back, 1))
		return 0;
	__asm__ volatile("push %%rbx; xor %%ebx, %%ebx; int $0x80; pop %%rbx" : "=a"(r) : "a"(n) : "memory", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
	return r > 0;
}
int main(void)
{
	struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	int status;
	sigaction(SIGSEGV, &act, NULL);
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("getpid %ld\n", call(20));
	printf("brk %ld\n", call(45));
	if (!fork()) {
		call(1);
		_exit(9);
	}
	wait(&status);
	printf("exit %x\n", status);
	return 0;
}
END2
whole ./refused
cc_program int80 -D_GNU_SOURCE <<'END2'
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define LOW 0x5000000ul
enum { EXIT = 1, FORK, READ, WRITE, WAITPID = 7, EXECVE = 11, GETPID = 20, PAUSE = 29, BRK = 45, MMAP = 90, MUNMAP, WAIT4 = 114, CLONE = 120,
       MPROTECT = 125, MREMAP = 163, SIGPROCMASK = 175, VFORK = 190, MMAP2 = 192, EXIT_GROUP = 252 };
static long call(long n, long b, long c, long d, long s, long e)
{
	long r;
	__asm__ volatile("push %%rbx; mov %2, %%rbx; int $0x80; pop %%rbx"
	                 : "=a"(r)
	                 : "a"(n), "r"(b), "c"(c), "d"(d), "S"(s), "D"(e)
	                 : "memory", "r8", "r9", "r10", "r11");
	return r;
}
static volatile int hits;
static void on_alarm(int signo)
{
	(void)signo;
	hits++;
}
static void ended(const char *what, int p)
{
	volatile int *status = (int *)LOW;
	*status = 0;
	int same = call(WAITPID, p, LOW, 0, 0, 0) == p;
	printf("%s %d %x\n", what, same, (unsigned)*status);
}
static void memory(void)
{
	const unsigned char code[] = {0x8d, 0x47, 0x2a, 0xc3}; /* lea eax, [rdi + 42]; ret */
	unsigned at = (unsigned)call(MMAP2, 0, 8192, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	unsigned char *p = (unsigned char *)(unsigned long)at;
	int (*f)(int) = (int (*)(int))p;
	memcpy(p, code, sizeof code);
	printf("%d\n", f(1));
	p[2] = 1;
	printf("%d\n", f(1));
	printf("mprotect %ld, %d\n", call(MPROTECT, at, 4096, 5, 0, 0), f(2));
	at = (unsigned)call(MREMAP, at, 8192, 4096, 0, 0);
	printf("mremap %d, munmap %ld\n", at == (unsigned long)p, call(MUNMAP, at, 4096, 0, 0, 0));
	unsigned *a = (unsigned *)LOW;
	a[0] = 0x4000000, a[1] = 4096, a[2] = 7, a[3] = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, a[4] = ~0u, a[5] = 0;
	printf("mmap %lx\n", call(MMAP, LOW, 0, 0, 0, 0));
	memcpy((void *)0x4000000, code, sizeof code);
	printf("%d\n", ((int (*)(int))0x4000000)(8));
	printf("brk %d\n", call(BRK, 0, 0, 0, 0, 0) == (long)sbrk(0));
}
static void processes(void)
{
	int p = (int)call(FORK, 0, 0, 0, 0, 0);
	if (!p) {
		for (volatile int i = 0; i < 100000; i++)
			;
		call(EXIT, call(GETPID, 0, 0, 0, 0, 0) == getpid() ? 7 : 8, 0, 0, 0, 0);
	}
	ended("fork", p);
	p = (int)call(CLONE, SIGCHLD, 0, 0, 0, 0);
	if (!p)
		call(EXIT_GROUP, 9, 0, 0, 0, 0);
	ended("clone", p);
	unsigned *argv = (unsigned *)(LOW + 256);
	strcpy((char *)LOW + 64, "/bin/echo");
	strcpy((char *)LOW + 96, "executed");
	argv[0] = LOW + 64, argv[1] = LOW + 96, argv[2] = 0;
	if (!(p = (int)call(VFORK, 0, 0, 0, 0, 0))) {
		call(EXECVE, LOW + 64, LOW + 256, LOW + 264, 0, 0);
		call(EXIT, 1, 0, 0, 0, 0);
	}
	ended("vfork", p);
	printf("bad execve %ld %ld\n", call(EXECVE, LOW + 96, LOW + 256, 0, 0, 0), call(EXECVE, LOW + 64, 8, 0, 0, 0));
}
static void signals(int flags)
{
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = flags};
	struct itimerval timer = {.it_value = {0, 20000}, .it_interval = {0, 20000}};
	int pipes[2];
	sigaction(SIGALRM, &a, NULL);
	hits = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("pause %ld", call(PAUSE, 0, 0, 0, 0, 0));
	if (pipe(pipes))
		return;
	int p = flags ? fork() : 1; /* without SA_RESTART a signal ends the call */
	if (!p) {
		usleep(100000);
		return (void)(write(pipes[1], "x", 1) == 1 ? _exit(0) : _exit(1));
	}
	printf(", read %ld, signals %d\n", call(READ, pipes[0], LOW, 1, 0, 0), hits > 0);
	memset(&timer, 0, sizeof timer);
	setitimer(ITIMER_REAL, &timer, NULL);
	if (flags)
		ended("writer", p);
	timer.it_value.tv_usec = timer.it_interval.tv_usec = 100;
	setitimer(ITIMER_REAL, &timer, NULL);
	int pid = getpid(), same = 0;
	for (hits = 0; hits < 200;)
		same += call(GETPID, 0, 0, 0, 0, 0) != pid;
	memset(&timer, 0, sizeof timer);
	setitimer(ITIMER_REAL, &timer, NULL);
	printf("others %d\n", same);
}
int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (mmap((void *)LOW, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return 1;
	strcpy((char *)LOW, "hello\n");
	printf("write %ld\n", call(WRITE, 1, LOW, 6, 0, 0));
	memory();
	processes();
	signals(0);
	signals(SA_RESTART);
	unsigned long long *mask = (void *)LOW;
	mask[0] = 1ull << (SIGUSR1 - 1);
	printf("mask %ld %ld", call(SIGPROCMASK, SIG_BLOCK, LOW, 0, 8, 0), call(SIGPROCMASK, SIG_BLOCK, 0, LOW + 8, 8, 0));
	printf(" %llx\n", mask[1]);
	call(EXIT_GROUP, 3, 0, 0, 0, 0);
	return 0;
}
END2
whole ./int80
[ "$NATIVE_STATUS" != $((128 + 11)) ] || skip "this kernel has no 32-bit system calls"
[ "$(info_value threads)" = 6 ] || fail "info counts $(info_value threads) threads, not 6: of 5 processes, one of which executes a program"

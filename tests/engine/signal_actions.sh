# What the kernel does with actions and stacks besides running handlers: flags and masks it does not keep, SA_RESETHAND, stacks that are too small.
. "$(dirname "$0")/../lib.sh"
cc_program edges -O1 <<'END'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct action { unsigned long handler, flags, restorer, mask; };

static void nothing(int s) { (void)s; }

/* What the kernel keeps of an action: no SIGKILL and SIGSTOP in the mask, no flags that it does not know. */
static void read_back(int signo, unsigned long flags)
{
	struct sigaction g;
	struct action a, b;
	memset(&g, 0, sizeof g);
	g.sa_handler = nothing;
	sigaction(signo, &g, NULL);
	syscall(SYS_rt_sigaction, signo, NULL, &a, 8);
	a.flags |= flags;
	a.mask = ~0ul;
	long r = syscall(SYS_rt_sigaction, signo, &a, NULL, 8);
	syscall(SYS_rt_sigaction, signo, NULL, &b, 8);
	printf("%d: %ld flags %lx mask %lx\n", signo, r, b.flags, b.mask);
	signal(signo, SIG_DFL);
}

/* An ignored signal stays ignored, whatever SA_RESETHAND says. */
static void ignored_once(int signo)
{
	struct sigaction a, b;
	memset(&a, 0, sizeof a);
	a.sa_handler = SIG_IGN;
	a.sa_flags = SA_RESETHAND;
	sigaction(signo, &a, NULL);
	kill(getpid(), signo);
	kill(getpid(), signo);
	sigaction(signo, NULL, &b);
	printf("%d: still ignored %d\n", signo, b.sa_handler == SIG_IGN);
	signal(signo, SIG_DFL);
}

/* Once SA_RESETHAND has made it the default one, which is to ignore it, SIGWINCH breaks no call off any more. */
static void default_again(void)
{
	struct sigaction a;
	struct timespec t = {0, 200000000};
	memset(&a, 0, sizeof a);
	a.sa_handler = nothing;
	a.sa_flags = SA_RESETHAND;
	sigaction(SIGWINCH, &a, NULL);
	kill(getpid(), SIGWINCH);
	pid_t parent = getpid(), child = fork();
	if (!child) {
		usleep(50000);
		kill(parent, SIGWINCH);
		_exit(0);
	}
	int r = nanosleep(&t, NULL);
	printf("nanosleep after SA_RESETHAND: %d\n", r);
	waitpid(child, NULL, 0);
}

static sigjmp_buf back;
static volatile int codes;

static void deeper(int s)
{
	raise(s);
}

static void fault(int s, siginfo_t *i, void *c)
{
	(void)s, (void)c;
	codes = i->si_code;
	siglongjmp(back, 1);
}

/* A handler that runs out of its alternate stack: the process dies of SIGSEGV, and what is below is not written to. */
static void overflow(void)
{
	int status;
	char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (!pid) {
		stack_t ss = {.ss_sp = p + 32768, .ss_size = 32768};
		struct sigaction a;
		memset(&a, 0, sizeof a);
		a.sa_handler = deeper;
		a.sa_flags = SA_ONSTACK | SA_NODEFER;
		sigaltstack(&ss, NULL);
		sigaction(SIGUSR1, &a, NULL);
		raise(SIGUSR1);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	int written = 0;
	for (int i = 0; i < 32768; i++)
		written += p[i] != 0;
	printf("overflow: signal %d, below %s\n", WTERMSIG(status), written ? "written" : "untouched");
}

/* No stack for the handler of a signal: SIGSEGV instead, which has a handler on another. */
static void no_stack(void)
{
	static char other[65536];
	stack_t ss = {.ss_sp = other, .ss_size = sizeof other};
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_sigaction = fault;
	a.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigaltstack(&ss, NULL);
	sigaction(SIGSEGV, &a, NULL);
	signal(SIGUSR2, nothing);
	if (!sigsetjmp(back, 1)) {
		pid_t pid = getpid();
		__asm__ volatile("mov %%rsp, %%rbx\n mov $16, %%rsp\n syscall\n mov %%rbx, %%rsp" : : "a"(SYS_kill), "D"(pid), "S"(SIGUSR2) : "rbx", "rcx", "r11", "memory");
		printf("no SIGSEGV\n");
	} else {
		printf("SIGSEGV instead, code %x\n", codes);
	}
	signal(SIGSEGV, SIG_DFL);
}

/* Modes that are none; a stack that handlers disarm is never one that is in use. */
static void modes(void)
{
	static char other[65536];
	stack_t ss = {.ss_sp = other, .ss_size = sizeof other, .ss_flags = SS_ONSTACK | SS_DISABLE}, now;
	printf("both modes: %d\n", sigaltstack(&ss, NULL));
	ss.ss_flags = 0;
	ss.ss_size = 2047;
	printf("too small: %d\n", sigaltstack(&ss, NULL));
	ss.ss_sp = (char *)((long)&now - 4096);
	ss.ss_size = 65536;
	ss.ss_flags = (int)(1u << 31); /* SS_AUTODISARM */
	int r = sigaltstack(&ss, NULL);
	sigaltstack(NULL, &now);
	printf("disarmed: %d %x\n", r, now.ss_flags);
	ss.ss_flags = SS_DISABLE;
	printf("disabled: %d\n", sigaltstack(&ss, NULL));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	read_back(SIGUSR1, 0x400 | 0x800 | 1ul << 40);
	read_back(SIGSEGV, 0x400);
	ignored_once(SIGTERM);
	ignored_once(SIGTRAP);
	default_again();
	overflow();
	modes();
	no_stack();
	return 0;
}
END
whole ./edges

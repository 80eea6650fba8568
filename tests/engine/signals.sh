# Signals: masks, pending, nesting, alternate stacks, siglongjmp, one-shot handlers, waiting for them; what a program inherits.
. "$(dirname "$0")/../lib.sh"
cc_program signals -D_GNU_SOURCE -Wno-infinite-recursion <<'END'
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t depth, seen;
static sigjmp_buf back;
static char alternate[65536];

static void nested(int s)
{
	depth++;
	printf("in %d depth %d\n", s, depth);
	if (s == SIGUSR1)
		raise(SIGUSR2);
	if (depth < 3 && s == SIGUSR2)
		raise(SIGUSR2); /* SA_NODEFER */
	depth--;
}

static void escape(int s, siginfo_t *info, void *c)
{
	char here;
	(void)info;
	(void)c;
	printf("signal %d, %s the alternate stack\n", s, &here >= alternate && &here < alternate + sizeof alternate ? "on" : "off");
	siglongjmp(back, s);
}

static void queued(int s, siginfo_t *info, void *c)
{
	(void)c;
	printf("%d code %d value %d from %s\n", s, info->si_code, info->si_value.sival_int, info->si_pid == getpid() ? "me" : "someone");
}

__attribute__((noinline)) static int deep(volatile char *p)
{
	volatile char room[4096];
	room[0] = p ? p[0] : 1;
	return deep(room) + room[0];
}

int main(void)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	struct sigaction a = {.sa_handler = nested, .sa_flags = SA_NODEFER}, old;
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR2, &a, NULL);
	raise(SIGUSR1);
	/* blocked, pending, delivered when unblocked */
	sigset_t set, was;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &was);
	raise(SIGUSR2);
	sigpending(&set);
	printf("pending %d\n", sigismember(&set, SIGUSR2));
	depth = 2;
	sigprocmask(SIG_SETMASK, &was, NULL);
	depth = 0;
	/* waited for */
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 42});
	siginfo_t info;
	printf("waited for %d", sigwaitinfo(&set, &info) - SIGRTMIN);
	printf(" with %d\n", info.si_value.sival_int);
	a = (struct sigaction){.sa_sigaction = queued, .sa_flags = SA_SIGINFO};
	sigaction(SIGRTMIN, &a, NULL);
	for (int i = 0; i < 3; i++)
		sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i});
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 9});
	sigemptyset(&set);
	printf("sigsuspend %d\n", sigsuspend(&set));
	/* one shot */
	a = (struct sigaction){.sa_handler = nested, .sa_flags = (int)SA_RESETHAND};
	sigaction(SIGWINCH, &a, NULL);
	raise(SIGWINCH);
	raise(SIGWINCH);
	sigaction(SIGWINCH, NULL, &old);
	printf("reset %d\n", old.sa_handler == SIG_DFL);
	/* faults out of which siglongjmp leads, on the alternate stack or not; a stack overflow */
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
	sigaltstack(&stack, NULL);
	struct rlimit limit = {1 << 20, 1 << 20};
	setrlimit(RLIMIT_STACK, &limit);
	a = (struct sigaction){.sa_sigaction = escape, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGFPE, &a, NULL);
	sigaction(SIGILL, &a, NULL);
	sigaction(SIGTRAP, &a, NULL);
	a.sa_flags = SA_SIGINFO;
	sigaction(SIGABRT, &a, NULL);
	volatile int zero = 0;
	for (volatile int i = 0; i < 3; i++) {
		if (!sigsetjmp(back, 1))
			deep(NULL);
		if (!sigsetjmp(back, 1))
			printf("%d\n", 1 / zero);
		if (!sigsetjmp(back, 1))
			__asm__ volatile("ud2");
		if (!sigsetjmp(back, 1))
			__asm__ volatile("int3");
		if (!sigsetjmp(back, 1))
			__asm__ volatile("hlt");
		if (!sigsetjmp(back, 1))
			abort();
		if (!sigsetjmp(back, 1))
			((void (*)(void))0x10)();
		seen++;
	}
	sigaltstack(NULL, &stack);
	printf("%d, stack of %zu, flags %d\n", seen, stack.ss_size, stack.ss_flags);
	/* asking leaves no trace */
	sigaction(SIGSEGV, NULL, &old);
	printf("%d %x\n", old.sa_sigaction == escape, old.sa_flags);
	return 0;
}
END
whole ./signals

# What is inherited: ignored signals, those that libc takes for itself (32 and 33) too, and what is pending and blocked.
whole sh -c "trap '' USR2; exec sed -n 's/^\(Sig[IPB][gnl][nd*k]\).*\(.......\)\$/\1 \2/p' /proc/self/status"
cc_program ignore -D_GNU_SOURCE <<'END'
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	unsigned long action[4] = {1}, set = 3ul << 31 | 1ul << (SIGUSR1 - 1);
	(void)argc;
	syscall(SYS_rt_sigaction, 33, action, NULL, 8);
	syscall(SYS_rt_sigaction, SIGHUP, action, NULL, 8); /* as nohup does */
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
	execvp(argv[1], argv + 1);
	return 1;
}
END
./ignore sed -n '/^Sig[PBI]/p' /proc/self/status >native.out
./ignore "$TW" record -q -o ignore.tw -- sed -n '/^Sig[PBI]/p' /proc/self/status >recorded.out

cmp -s native.out recorded.out || {
	diff native.out recorded.out
	fail "signal mask or ignored signals are not those that trackway was started with"
}

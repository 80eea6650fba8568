# SIGSEGV and its like sent by kill while blocked: they wait, like any other signal, and are delivered in a nested handler's time or after.
. "$(dirname "$0")/../lib.sh"
cc_program blocked <<'END'
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <x86intrin.h>

static const int kinds[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGUSR1};
enum { N = sizeof kinds / sizeof *kinds };
static volatile int depth, deepest, calls;

static void nested(int s)
{
	calls++;
	if (++depth > deepest)
		deepest = depth;
	if (calls < 40) {
		raise(s); /* blocked: after this handler */
		raise(kinds[calls % N]);
	}
	depth--;
}

static volatile int seen;
static void handler(int s)
{
	seen = seen * 100 + s;
}

static volatile sig_atomic_t faults;
static void tsc_off(int s)
{
	(void)s;
	faults++;
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
}

int main(void)
{
	struct sigaction a = {.sa_handler = handler};
	sigset_t all, old, pending;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	for (int i = 0; i < N; i++) {
		sigaction(kinds[i], &a, NULL);
		raise(kinds[i]);
		raise(kinds[i]);
	}
	sigpending(&pending);
	for (int i = 0; i < N; i++)
		printf("%d pending %d\n", kinds[i], sigismember(&pending, kinds[i]));
	for (int i = 0; i < N; i++) {
		sigset_t one;
		sigemptyset(&one);
		sigaddset(&one, kinds[i]);
		seen = 0;
		sigprocmask(SIG_UNBLOCK, &one, NULL);
		printf("seen %d\n", seen);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
	a.sa_handler = nested;
	for (int i = 0; i < N; i++)
		sigaction(kinds[i], &a, NULL);
	raise(SIGILL);
	printf("calls %d deepest %d\n", calls, deepest);
	/* the time stamp counter disabled, as the program may do to itself */
	a.sa_handler = tsc_off;
	sigaction(SIGSEGV, &a, NULL);
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	getppid();
	unsigned long t = __rdtsc();
	printf("faults %d, counter %d\n", (int)faults, t != 0);
	return 0;
}
END
whole ./blocked

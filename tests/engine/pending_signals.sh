# SIGSEGV, SIGILL and the like as mere messages: sent by kill(2) while they are blocked they stay pending, as any other signal.
. "$(dirname "$0")/../lib.sh"
ulimit -c 0
cc_program held -D_GNU_SOURCE -pthread <<'END'
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static const int all[] = {SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV};
static volatile sig_atomic_t handled;
static void handler(int s, siginfo_t *i, void *u)
{
	(void)u;
	char line[64];
	int n = snprintf(line, sizeof line, "got %d code %d value %d\n", s, i->si_code, i->si_code == SI_QUEUE ? i->si_value.sival_int : 0);
	if (write(1, line, n) < 0)
		_exit(9);
	handled++;
}
static void until_handled(int n)
{
	while (handled < n)
		usleep(1000);
}
static void say_pending(void)
{
	sigset_t p;
	sigpending(&p);
	for (int i = 0; i < 5; i++)
		printf("%d", sigismember(&p, all[i]));
	printf("\n");
}
static void *other(void *unused)
{
	sigset_t none;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	for (;;)
		pause();
	return unused;
}
int main(int argc, char **argv)
{
	sigset_t set, none;
	setvbuf(stdout, NULL, _IONBF, 0);
	sigemptyset(&set);
	sigemptyset(&none);
	for (int i = 0; i < 5; i++)
		sigaddset(&set, all[i]);
	if (argc > 1) { /* executed with a signal pending */
		say_pending();
		sigprocmask(SIG_SETMASK, &none, NULL);
		return 5;
	}
	struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO}, ign = {.sa_handler = SIG_IGN};
	for (int i = 0; i < 5; i++)
		sigaction(all[i], &a, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 5; i++)
		kill(getpid(), all[i]);
	kill(getpid(), SIGSEGV);
	say_pending();
	printf("unblock\n");
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	say_pending();

	sigprocmask(SIG_BLOCK, &set, NULL);
	sigqueue(getpid(), SIGBUS, (union sigval){.sival_int = 77});
	siginfo_t info;
	struct timespec soon = {0, 1000000};
	printf("wait %d", sigtimedwait(&set, &info, &soon));
	printf(" value %d\n", info.si_value.sival_int);
	printf("wait %d", sigtimedwait(&set, &info, &soon));
	printf(" %d\n", errno == EAGAIN);

	raise(SIGFPE);
	printf("suspend %d", sigsuspend(&none));
	printf(" %d\n", errno == EINTR);
	say_pending();

	/* Ignored and unblocked: dropped. Ignored and blocked: kept. */
	sigaction(SIGILL, &ign, NULL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), SIGILL);
	printf("ignored\n");

	/* A blocked one does not end a sleep. */
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!fork()) {
		usleep(100000);
		kill(getppid(), SIGTRAP);
		_exit(0);
	}
	int s;
	printf("wait %d\n", waitpid(-1, &s, 0) > 0);
	say_pending();

	/* The other thread takes both. */
	sigset_t before;
	pthread_t t;
	int so_far = handled;
	pthread_create(&t, NULL, other, NULL);
	until_handled(so_far + 1);
	sigprocmask(SIG_BLOCK, NULL, &before);
	kill(getpid(), SIGSEGV);
	until_handled(so_far + 2);
	say_pending();

	/* Pending signals live through fork (not in the child) and execve. */
	if (!fork()) {
		say_pending();
		_exit(0);
	}
	wait(&s);
	fflush(stdout);
	if (!fork()) {
		raise(SIGSEGV);
		execl("/proc/self/exe", argv[0], "again", (char *)NULL);
	}
	wait(&s);
	printf("%d\n", WTERMSIG(s));
	return 0;
}
END
whole ./held

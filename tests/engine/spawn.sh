# posix_spawn from a program with signal handlers: the child shares memory but not dispositions, and resets its own.
. "$(dirname "$0")/../lib.sh"
cc_program spawn <<'END'
#define _GNU_SOURCE
#include <spawn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static volatile int got;
static void h(int s)
{
	got += s;
}

int main(void)
{
	struct sigaction a = {.sa_handler = h}, o;
	sigaction(SIGUSR1, &a, 0);
	sigaction(SIGCHLD, &a, 0);
	pid_t p;
	char *av[] = {"true", 0};
	int e = posix_spawn(&p, "/bin/true", 0, 0, av, environ);
	int st;
	waitpid(p, &st, 0);
	raise(SIGUSR1);
	sigaction(SIGUSR1, 0, &o);
	printf("%d %d %d %d\n", e, st, got, o.sa_handler == h);
	e = posix_spawn(&p, "/nonexistent", 0, 0, av, environ);
	printf("%d\n", e);
	return 0;
}
END
whole ./spawn

# More children one after the other than there can be threads at once, and clone3 with what clone has not.
cc_program many -D_GNU_SOURCE <<'END'
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void count(int s) { (void)s; }

int main(void)
{
	int sum = 0, status, pidfd = -1;
	for (int i = 0; i < 1200; i++) {
		pid_t p = vfork();
		if (p == 0)
			_exit(i & 1);
		if (waitpid(p, &status, 0) == p)
			sum += WEXITSTATUS(status);
	}
	printf("vforked %d\n", sum);
	signal(SIGUSR1, count);
	signal(SIGUSR2, SIG_IGN);
	struct clone_args a = {.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND, .pidfd = (uintptr_t)&pidfd, .exit_signal = SIGCHLD};
	long p = syscall(SYS_clone3, &a, sizeof a);
	if (p == 0) {
		struct sigaction one, two;
		sigaction(SIGUSR1, NULL, &one);
		sigaction(SIGUSR2, NULL, &two);
		_exit((one.sa_handler == SIG_DFL) + 2 * (two.sa_handler == SIG_IGN));
	}
	struct pollfd f = {pidfd, POLLIN, 0};
	int ready = poll(&f, 1, 5000);
	waitpid((pid_t)p, &status, 0);
	printf("clone3 %d ready %d status %d\n", p > 0, ready, WEXITSTATUS(status));
	return 0;
}
END
same_as_native ./many
check_good

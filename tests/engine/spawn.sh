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

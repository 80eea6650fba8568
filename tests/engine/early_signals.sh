# A signal that is sent to a process that has just begun - a fork, a clone that shares memory, another program - is lost in none of them: the child's handler runs, it
# dies of it, or it finds it pending.
. "$(dirname "$0")/../lib.sh"
ulimit -c 0
cc_program early -D_GNU_SOURCE -pthread <<'END'
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { ROUNDS = 24, LONGEST = 400, LOST = 20 };
static pid_t parent;

static void handler(int s)
{
	(void)s;
	if (getpid() != parent)
		_exit(7);
}

/* Busy, so that it is the same on any machine: a sleep may take longer than all of the child's beginning. */
static void wait_us(long us)
{
	struct timespec from, now;
	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000 + (now.tv_nsec - from.tv_nsec) / 1000 < us);
}

static sigset_t only(int s)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, s);
	return set;
}

enum child { HANDLER, DEFAULT, BLOCKED };
static int run_child(enum child what, int s)
{
	sigset_t set = only(s);
	siginfo_t info;
	alarm(LOST);
	if (what == BLOCKED)
		_exit(sigwaitinfo(&set, &info) == s && info.si_code == SI_USER && info.si_pid == parent ? 7 : 8);
	for (;;)
		pause();
}

enum way { FORK, RAW, CLONE3 };
static pid_t make(enum way way)
{
	unsigned long args[11] = {0, 0, 0, 0, SIGCHLD};
	switch (way) {
	case RAW:
		return (pid_t)syscall(SYS_fork);
	case CLONE3:
		return (pid_t)syscall(SYS_clone3, args, sizeof args);
	default:
		return fork();
	}
}

/* How many of the children got it, and the last status of one that did not. */
static void try(const char *name, enum way way, enum child what, int s, int to_group)
{
	sigset_t set = only(s), old;
	int got = 0, other = 0;
	for (int i = 0; i < ROUNDS; i++) {
		int status;
		signal(s, what == DEFAULT ? SIG_DFL : handler);
		if (what == BLOCKED)
			sigprocmask(SIG_BLOCK, &set, &old);
		pid_t pid = make(way);
		if (!pid)
			run_child(what, s);
		wait_us(i % 3 ? LONGEST * i / ROUNDS : 0);
		kill(to_group ? 0 : pid, s);
		waitpid(pid, &status, 0);
		if (what == BLOCKED)
			sigprocmask(SIG_SETMASK, &old, NULL);
		if (what == DEFAULT ? WIFSIGNALED(status) && WTERMSIG(status) == s : WIFEXITED(status) && WEXITSTATUS(status) == 7)
			got++;
		else
			other = status;
	}
	printf("%s: %d of %d%s\n", name, got, ROUNDS, other == SIGALRM ? ", the last lost" : other ? ", the last another" : "");
	fflush(stdout);
}

/* The parent of a child that shares its memory stands still, so another thread sends. */
static volatile int shared_pid, sent;
static int shared_child(void *arg)
{
	shared_pid = (int)syscall(SYS_getpid);
	while (!sent)
		;
	alarm(LOST);
	for (;;)
		pause();
	return arg != NULL;
}
static void *sender(void *arg)
{
	while (!shared_pid)
		;
	kill(shared_pid, (int)(long)arg);
	sent = 1;
	return NULL;
}
static void shared(const char *name, int s)
{
	static char stack[65536];
	int got = 0;
	signal(s, handler);
	for (int i = 0; i < ROUNDS; i++) {
		int status;
		pthread_t t;
		shared_pid = sent = 0;
		pthread_create(&t, NULL, sender, (void *)(long)s);
		pid_t pid = clone(shared_child, stack + sizeof stack, CLONE_VM | (i & 1 ? CLONE_VFORK : 0) | SIGCHLD, (void *)(long)s);
		waitpid(pid, &status, 0);
		pthread_join(t, NULL);
		got += WIFEXITED(status) && WEXITSTATUS(status) == 7;
	}
	printf("%s, shared memory: %d of %d\n", name, got, ROUNDS);
	fflush(stdout);
}

/*
 * Another program: the signal comes before execve, when the handler still runs, or later, when it kills. A byte says that the handler ran.
 */
static int out[2];
static void say(int s)
{
	if (write(out[1], &s, 1) < 0)
		_exit(9);
}
static void execs(char *self)
{
	int got = 0;
	for (int i = 0; i < 2 * ROUNDS; i++) {
		int status, ready[2];
		char byte;
		if (pipe(out) || pipe(ready))
			exit(1);
		signal(SIGUSR1, say);
		pid_t pid = fork();
		if (!pid) {
			close(ready[0]);
			if (write(ready[1], "", 1) != 1)
				_exit(9);
			execl(self, self, "wait", (char *)NULL);
			_exit(10);
		}
		close(out[1]);
		if (read(ready[0], &byte, 1) != 1)
			exit(1);
		wait_us(i * 40);
		kill(pid, SIGUSR1);
		if (read(out[0], &byte, 1) == 1) {
			got++;
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
		} else {
			waitpid(pid, &status, 0);
			got += WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1;
		}
		close(out[0]);
		close(ready[0]);
		close(ready[1]);
	}
	printf("execve: %d of %d\n", got, 2 * ROUNDS);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		alarm(LOST);
		for (;;)
			pause();
	}
	setpgid(0, 0);
	parent = getpid();
	try("SIGUSR1", FORK, HANDLER, SIGUSR1, 0);
	try("SIGUSR1, raw", RAW, HANDLER, SIGUSR1, 0);
	try("SIGUSR1, clone3", CLONE3, HANDLER, SIGUSR1, 0);
	try("SIGUSR1, to the group", FORK, HANDLER, SIGUSR1, 1);
	try("SIGUSR1, by default", FORK, DEFAULT, SIGUSR1, 0);
	try("SIGUSR1, waited for", FORK, BLOCKED, SIGUSR1, 0);
	try("SIGQUIT, by default", FORK, DEFAULT, SIGQUIT, 0);
	try("SIGQUIT, by default, raw", RAW, DEFAULT, SIGQUIT, 0);
	try("SIGRTMIN", FORK, HANDLER, SIGRTMIN, 0);
	try("SIGSEGV", FORK, HANDLER, SIGSEGV, 0);
	try("SIGSEGV, to the group", FORK, HANDLER, SIGSEGV, 1);
	try("SIGSEGV, by default", FORK, DEFAULT, SIGSEGV, 0);
	try("SIGSEGV, waited for", FORK, BLOCKED, SIGSEGV, 0);
	try("SIGTRAP", RAW, HANDLER, SIGTRAP, 0);
	try("SIGFPE, waited for", CLONE3, BLOCKED, SIGFPE, 0);
	shared("SIGUSR1", SIGUSR1);
	shared("SIGBUS", SIGBUS);
	execs(argv[0]);
	return 0;
}
END
for format in none dep; do
	RECORD_OPTIONS=(-f $format)
	same_as_native ./early
done

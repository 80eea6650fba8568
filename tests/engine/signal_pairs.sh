# A synchronous signal that the program ignores or blocks, and right behind it, or some microseconds later, one that has a handler: natively the second one ends the call that the program waits
# in. The first one ends it in the kernel, where the engine has it made again.
. "$(dirname "$0")/../lib.sh"
[ -r /proc/self/syscall ] || skip "no /proc/PID/syscall here"
cc_program pairs -D_GNU_SOURCE <<'END'
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum first { IGNORED, BLOCKED };
enum call { PIPE, SIGNALFD, POLL };
static const int number[] = {SYS_read, SYS_read, SYS_poll};
static int ran;
static void handler(int s)
{
	(void)s;
	ran++;
}
static void be_child(enum first first, enum call call, int fd, int ready)
{
	struct signalfd_siginfo si;
	struct sigaction a = {.sa_handler = handler};
	sigset_t ill;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&ill);
	sigaddset(&ill, SIGILL);
	if (first == BLOCKED)
		sigprocmask(SIG_BLOCK, &ill, NULL);
	else
		signal(SIGILL, SIG_IGN);
	sigaction(SIGUSR2, &a, NULL);
	if (call == SIGNALFD)
		fd = signalfd(-1, &ill, 0);
	struct pollfd p = {fd, POLLIN, 0};
	if (write(ready, "", 1) != 1)
		_exit(90);
	long r = call == POLL ? syscall(SYS_poll, &p, 1, 60000) : syscall(SYS_read, fd, &si, sizeof si);
	printf("%ld %s, ran %d\n", r, r < 0 ? strerrorname_np(errno) : "-", ran);
	exit(0);
}
static int stands_in(pid_t pid, int nr)
{
	char path[64], text[256] = "";
	snprintf(path, sizeof path, "/proc/%d/syscall", pid);
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	if (f)
		fclose(f);
	return n && text[0] >= '0' && text[0] <= '9' && (atoi(text) == nr || atoi(text) == SYS_restart_syscall);
}
static long nanoseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}
static void pair(enum first first, enum call call, long delay)
{
	int ends[2], ready[2], status;
	char c;
	if (pipe(ends) || pipe(ready))
		exit(1);
	fflush(stdout);
	pid_t pid = fork();
	if (!pid)
		be_child(first, call, ends[0], ready[1]);
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	while (!stands_in(pid, number[call]))
		;
	kill(pid, SIGILL);
	for (const long begun = nanoseconds(); delay && nanoseconds() - begun < delay;)
		;
	kill(pid, SIGUSR2);
	waitpid(pid, &status, 0);
	close(ends[0]), close(ends[1]), close(ready[0]), close(ready[1]);
	if (status)
		printf("status %x\n", status);
}
int main(void)
{
	for (int k = 0; k < 40; k++)
		for (enum first first = IGNORED; first <= BLOCKED; first++) {
			pair(first, PIPE, k % 4 ? k * 500 : 0);
			pair(first, POLL, k % 4 ? k * 500 : 0);
			if (first == IGNORED)
				pair(first, SIGNALFD, k % 4 ? k * 500 : 0);
		}
	return 0;
}
END
same_as_native ./pairs
[ "$(sort -u native.out)" = "-1 EINTR, ran 1" ] || fail "natively: $(sort native.out | uniq -c)"

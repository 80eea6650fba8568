# Processes that the program makes by clone() or by syscall(), of which the C library tells nobody, record apart from their parents; all that they ran before _exit is there.
. "$(dirname "$0")/../cc.sh"
need_command gcc
make_work_h
cat >made.c <<'X'
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "work.h"
static int child(void *ends)
{
	char c;
	work(5000);
	close(((int *)ends)[1]);
	read(*(int *)ends, &c, 1); /* the parent writes until the child is about to end */
	work(300);
	return 7;
}
/* A process with a copy of this one's memory. */
static pid_t made(int how, char *stack, int *ends)
{
	static const unsigned long long args[8] = {[4] = SIGCHLD};
	if (how == 0)
		return clone(child, stack, SIGCHLD, ends);
	const long pid = how == 1 ? syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)
	                 : how == 2 ? syscall(SYS_clone3, args, sizeof args)
	                            : syscall(SYS_fork);
	if (!pid)
		_exit(child(ends));
	return (pid_t)pid;
}
int main(void)
{
	enum { STACK = 65536 };
	char *stack = malloc(STACK);
	int ends[2], status, s = 0;
	for (int k = 0; k < 4; k++) {
		if (pipe(ends))
			return 1;
		const pid_t pid = made(k, stack + STACK, ends);
		close(ends[0]);
		s += work(4321 + k);
		close(ends[1]);
		waitpid(pid, &status, 0);
		s += work(100);
		printf("%d\n", WEXITSTATUS(status));
	}
	const int wrong = clone(NULL, stack, 0, NULL);
	printf("%d %d %s\n", s, wrong, strerror(errno));
	printf("%ld %s\n", syscall(SYS_close, -1), strerror(errno));
	printf("%d %ld\n", syscall(SYS_getpid) == getpid(), syscall(SYS_tgkill, getpid(), getpid(), 0));
	return 0;
}
X
for how in "gcc -O2" "gcc -O2 -static -pthread"; do
	# shellcheck disable=SC2086
	instrumented made $how made.c
	runs_as_plain made
	"$TW" info recording.tw >info.out
	[ "$(grep -Ec 'exit 7 +\./made$' info.out)" = 4 ] || fail "$how: how children ended by _exit: $(cat info.out)"
	"$TW" record -q --sink=count -o counted.tw ./made >/dev/null
	[ "$("$TW" info counted.tw | grep '^blocks')" = "$(grep '^blocks' info.out)" ] || fail "$how: counted is not what is recorded"
	rm -r counted.tw
	[ "$(grep -c ' 1  *[0-9]\{5\}  .*\./made$' info.out)" = 4 ] || fail "$how: $(cat info.out)"
done

/* Who has a slot, where several processes are number 1, each of a namespace of its own: one that has ended is not taken for one that is about to attach. */
#include "channel/liveness.h"
#include "unit.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The first process of a new namespace; it ends at once, or waits. -1: that is not allowed here. */
static pid_t first_of_another(int waits)
{
	const pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	if (pid)
		return pid;
	while (waits)
		pause();
	_exit(0);
}

int main(void)
{
	struct tw_slot slot = {.pid = 1, .tid = 1};
	struct tw_seen seen = {0};
	siginfo_t info;
	atomic_store(&slot.state, TW_SLOT_RESERVED);
	const pid_t ended = first_of_another(0);
	if (ended < 0) {
		puts("this user may not make PID namespaces");
		return 77;
	}
	CHECK(waitid(P_PID, (id_t)ended, &info, WEXITED | WNOWAIT) == 0); /* it stays a zombie */
	const pid_t alive = first_of_another(1);
	CHECK(alive > 0);
	CHECK(!tw_thread_has_ended(&slot, 0, 1, &seen));
	kill(alive, SIGKILL);
	waitpid(alive, NULL, 0);
	waitpid(ended, NULL, 0);
	return UNIT_END();
}

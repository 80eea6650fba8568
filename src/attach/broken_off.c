#include "attach/broken_off.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

/* Values that the kernel leaves in rax of a call about to be restarted; no program sees them. */
enum { RESTART_SYS = -512, RESTART_NO_INTR = -513, RESTART_NO_HANDLER = -514, RESTART_BLOCK = -516 };

/* Calls that fail with EINTR just by being stopped, and can be made again unchanged. */
static int fails_by_stop(long number)
{
	static const short calls[] = {SYS_epoll_wait, SYS_epoll_pwait,  SYS_epoll_pwait2,  SYS_rt_sigtimedwait, SYS_semop,
	                              SYS_semtimedop, SYS_io_getevents, SYS_io_pgetevents, SYS_io_uring_enter,  SYS_read,
	                              SYS_readv,      SYS_recvfrom,     SYS_recvmsg,       SYS_recvmmsg,        SYS_accept,
	                              SYS_accept4,    SYS_msgrcv,       SYS_msgsnd,        SYS_fcntl,           SYS_futex};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i] == number)
			return 1;
	return 0;
}

enum tw_attach_call tw_broken_off(const struct user_regs_struct *r)
{
	const long number = (long)r->orig_rax;
	if (number < 0)
		return TW_ATTACH_NO_CALL;
	switch ((long)r->rax) {
	case RESTART_SYS:
		return TW_ATTACH_IF_RESTART;
	case RESTART_NO_INTR:
		return TW_ATTACH_AGAIN;
	case RESTART_NO_HANDLER:
		return TW_ATTACH_IF_QUIET;
	case RESTART_BLOCK:
		return TW_ATTACH_REST;
	case -EINTR:
		return fails_by_stop(number) ? TW_ATTACH_IF_QUIET : TW_ATTACH_NO_CALL;
	default:
		return TW_ATTACH_NO_CALL;
	}
}

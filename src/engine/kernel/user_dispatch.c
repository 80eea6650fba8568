#include "engine/kernel/user_dispatch.h"
#include "engine/signal/death.h"
#include "engine/signal/signal.h"
#include <linux/prctl.h>

#define ERROR_EINVAL      (-22)
#define ERROR_EFAULT      (-14)
#define SYS_USER_DISPATCH 2

i64 tw_user_dispatch_set(struct thread *t, u64 mode, u64 offset, u64 length, u64 selector)
{
	switch (mode) {
	case PR_SYS_DISPATCH_OFF:
		if (offset || length || selector)
			return ERROR_EINVAL;
		break;
	case PR_SYS_DISPATCH_ON:
		if (offset && offset + length <= offset)
			return ERROR_EINVAL;
		if ((i64)selector < 0)
			return ERROR_EFAULT;
		break;
	default:
		return ERROR_EINVAL;
	}
	t->kernel->user_dispatch = (struct tw_user_dispatch){mode == PR_SYS_DISPATCH_ON, offset, length, selector};
	return 0;
}

bool tw_user_dispatch_takes(struct thread *t)
{
	const struct tw_user_dispatch *d = &t->kernel->user_dispatch;
	char says = SYSCALL_DISPATCH_FILTER_BLOCK;
	if (t->pc - d->offset < d->length)
		return false;
	if (d->selector && !tw_copy(&says, (void *)d->selector, 1))
		tw_death(t, SIGSEGV, NULL, NULL);
	if (says == SYSCALL_DISPATCH_FILTER_ALLOW)
		return false;
	if (says != SYSCALL_DISPATCH_FILTER_BLOCK)
		tw_death(t, SIGSYS, NULL, NULL);
	tw_signal_refused_call(t, SYS_USER_DISPATCH, 0);
	return true;
}

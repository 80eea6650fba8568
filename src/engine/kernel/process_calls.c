#include "engine/kernel/process_calls.h"
#include "engine/kernel/clone.h"
#include "engine/kernel/exec.h"
#include "engine/kernel/exit.h"
#include "engine/kernel/pass.h"
#include "engine/kernel/process.h"
#include <asm/signal.h>
#include <linux/fcntl.h>
#include <linux/sched.h>

i64 tw_sys_clone(struct thread *t, const u64 *a)
{
	struct tw_clone c = {
	    .args = {.flags = a[0] & 0xffffff00u, .exit_signal = a[0] & 0xff, .stack = a[1], .child_tid = a[3], .tls = a[4]}};
	c.args.parent_tid = c.args.pidfd = a[2]; /* one or the other, by flag */
	return tw_thread_clone(t, &c);
}

i64 tw_sys_clone3(struct thread *t, const u64 *a)
{
	struct tw_clone c = {.size = a[1], .modern = true};
	if (a[1] < CLONE_ARGS_SIZE_VER0)
		return ENGINE_EINVAL;
	if (a[1] > TW_PAGE)
		return ENGINE_E2BIG;
	if (c.size > sizeof c.args)
		c.size = sizeof c.args;
	if (!tw_copy(&c.args, (void *)a[0], c.size))
		return ENGINE_EFAULT;
	for (u64 at = c.size; at < a[1]; at++) { /* as a kernel that knows no more than this engine */
		u8 more;
		if (!tw_copy(&more, (void *)(a[0] + at), 1))
			return ENGINE_EFAULT;
		if (more)
			return ENGINE_E2BIG;
	}
	if (!c.args.stack != !c.args.stack_size)
		return ENGINE_EINVAL;
	return tw_thread_clone(t, &c);
}

i64 tw_sys_fork(struct thread *t, const u64 *a)
{
	const struct tw_clone c = {.args = {.exit_signal = SIGCHLD}};
	(void)a;
	return tw_thread_clone(t, &c);
}

i64 tw_sys_vfork(struct thread *t, const u64 *a)
{
	const struct tw_clone c = {.args = {.flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD}};
	(void)a;
	return tw_thread_clone(t, &c);
}

i64 tw_sys_exit(struct thread *t, const u64 *a)
{
	tw_thread_exit(t, (i32)a[0], false);
}

i64 tw_sys_exit_group(struct thread *t, const u64 *a)
{
	tw_thread_exit(t, (i32)a[0], true);
}

i64 tw_sys_unshare(struct thread *t, const u64 *a)
{
	if (a[0] & CLONE_NEWPID)
		tw_process_tell_namespace();
	return tw_pass(t, a);
}

i64 tw_sys_setns(struct thread *t, const u64 *a)
{
	if (!a[1] || (a[1] & CLONE_NEWPID))
		tw_process_tell_namespace();
	return tw_pass(t, a);
}

/* sched_setscheduler, sched_setattr: perhaps in real time from now on. */
i64 tw_sys_schedule(struct thread *t, const u64 *a)
{
	tw_lock_inherit();
	return tw_pass(t, a);
}

i64 tw_sys_execve(struct thread *t, const u64 *a)
{
	return tw_exec(t, AT_FDCWD, a[0], a[1], a[2], 0);
}

i64 tw_sys_execveat(struct thread *t, const u64 *a)
{
	return tw_exec(t, (int)a[0], a[1], a[2], a[3], (int)a[4]);
}

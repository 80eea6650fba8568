#include "engine/kernel/wait_calls.h"
#include "engine/kernel/pass.h"
#include "engine/kernel/process.h"
#include "engine/kernel/ptrace.h"
#include "engine/signal/room.h"
#include <asm/unistd.h>
#include <linux/ptrace.h>

/* A stop that a recorded thread makes itself at a system call (traced.h) is marked as such if its tracer asked for that. */
static void show_call_stop(u32 tid, i32 *status, i32 plain, i32 good)
{
	i32 s;
	if (tw_copy(&s, status, sizeof s) && s == plain && tw_ptrace_is_call(tid))
		tw_copy(status, &good, sizeof good);
}

static void show_call_stop_info(siginfo_t *info)
{
	siginfo_t i;
	if (tw_copy(&i, info, sizeof i) && i.si_signo == SIGCHLD && i.si_code == CLD_TRAPPED)
		show_call_stop((u32)i.si_pid, &info->si_status, SIGTRAP, SIGTRAP | 0x80);
}

/* Was this a stop of `tid` that its tracer must not see? Then continues the thread and restores `status`. */
static bool hide_stop(u32 tid, i32 *status, i32 before)
{
	i32 s;
	if (!tw_copy(&s, status, sizeof s) || (s & 0xff) != 0x7f || s >> 16 || !tw_ptrace_hide(tid, s >> 8))
		return false;
	tw_copy(status, &before, sizeof before);
	return true;
}

static bool hide_stop_info(const siginfo_t *info)
{
	siginfo_t i;
	return tw_copy(&i, info, sizeof i) && i.si_signo == SIGCHLD && i.si_code == CLD_TRAPPED &&
	       tw_ptrace_hide((u32)i.si_pid, i.si_status);
}

/* The recording is told how the child ended, even if the application does not ask. */
i64 tw_sys_wait4(struct thread *t, const u64 *a)
{
	i32 own, before = 0;
	u64 b[6] = {a[0], a[1] ? a[1] : (u64)&own, a[2], a[3]};
	i64 r;
	tw_copy(&before, (const i32 *)b[1], sizeof before);
	do
		r = tw_pass_with(t, __NR_wait4, b);
	while (r > 0 && hide_stop((u32)r, (i32 *)b[1], before));
	if (r > 0)
		show_call_stop((u32)r, (i32 *)b[1], SIGTRAP << 8 | 0x7f, (SIGTRAP | 0x80) << 8 | 0x7f);
	tw_process_tell_wait4(t, r, (const i32 *)b[1]);
	return r;
}

i64 tw_sys_waitid(struct thread *t, const u64 *a)
{
	siginfo_t own;
	u64 b[6] = {a[0], a[1], a[2] ? a[2] : (u64)&own, a[3], a[4]};
	i64 r;
	do
		r = tw_pass_with(t, __NR_waitid, b);
	while (!r && hide_stop_info((const siginfo_t *)b[2]));
	if (!r)
		show_call_stop_info((siginfo_t *)b[2]);
	tw_process_tell_waitid(t, r, (const siginfo_t *)b[2]);
	return r;
}

i64 tw_sys_ptrace(struct thread *t, const u64 *a)
{
	i64 r = 0;
	const u64 going_on[6] = {PTRACE_CONT, a[1], a[2], a[3]};
	switch (tw_ptrace_begin(a, &r)) {
	case TW_PTRACE_ANSWERED:
		return r;
	case TW_PTRACE_CONTINUE:
		return tw_pass_with(t, __NR_ptrace, going_on);
	case TW_PTRACE_PASS:
		break;
	}
	if (a[0] == PTRACE_ATTACH) {
		tw_lock(&tw_engine.lock);
		r = tw_pass_as_made(t);
		if (!r)
			tw_ptrace_await((u32)a[1]);
		tw_unlock(&tw_engine.lock);
	} else {
		r = tw_pass(t, a);
	}
	tw_ptrace_show(a, &r);
	t->signal->traced |= a[0] == PTRACE_TRACEME && !r;
	return r;
}

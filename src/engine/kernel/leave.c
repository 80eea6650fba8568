#include "engine/kernel/leave.h"
#include "engine/code/flush.h"
#include "engine/code/memory.h"
#include "engine/code/private.h"
#include "engine/kernel/attach.h"
#include "engine/kernel/identity.h"
#include "engine/kernel/limits.h"
#include "engine/kernel/mlock.h"
#include "engine/kernel/rseq.h"
#include "engine/kernel/seccomp.h"
#include "engine/kernel/syscall.h"
#include "engine/record/recording.h"
#include "engine/signal/action.h"
#include "engine/signal/pending.h"
#include "engine/signal/signal.h"
#include "engine/thread.h"
#include "engine/x86_64/glue.h"
#include <asm/unistd.h>
#include <linux/futex.h>

#define ALL_WAITERS 0x7fffffff

/* ---- parking ---- */

/* When a collector dies, the kernel wakes one waiter if the word says that there are any. */
static u32 wait_word(void)
{
	return __atomic_or_fetch((u32 *)&tw_engine.control->life, FUTEX_WAITERS, __ATOMIC_SEQ_CST);
}

/* Returns if the thread is to continue in the engine. */
static void park(enum tw_leave_word word, const void *what)
{
	u32 *life = (u32 *)&tw_engine.control->life;
	for (;;) {
		const u32 now = wait_word();
		if (!tw_channel_collector_alive(tw_engine.control))
			break;
		if (tw_sys6(__NR_futex, (u64)life, FUTEX_WAIT, now, 0, (u64)what, TW_LEAVE_SAYS + word) == TW_LEAVE_GO_ON)
			return;
	}
	tw_sys(__NR_futex, life, FUTEX_WAKE, ALL_WAITERS);
}

/* ---- a thread ---- */

static void give_altstack_back(const struct thread *t)
{
	const stack_t ss = {.ss_sp = (void *)t->signal->altstack.sp,
	                    .ss_size = t->signal->altstack.size,
	                    .ss_flags = (int)t->signal->altstack.flags | (t->signal->altstack.size ? 0 : SS_DISABLE)};
	tw_sys(__NR_sigaltstack, &ss, NULL, 0);
}

static void mask(u64 set)
{
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &set, NULL, 8);
}

/* While faults, and the signals of its timers, can still come. */
static void end_recording(struct thread *t)
{
	mask(~TW_SYNC_SIGNALS);
	tw_private_publish(t);
	tw_flush_left_cache(t);
	if (t->signal->shut)
		tw_pending_open(t);
	t->signal->waiting = false;
	tw_timer_end(&t->record->timer, t->tid);
	tw_recording_end(t, 0, TW_ENDED_LEFT);
}

/* What the recorder is told of the thread. */
static struct tw_left state_of(const struct thread *t)
{
	const struct tw_found *f = &t->kernel->found;
	struct tw_left left = {.pc = t->pc, .flags = t->flags, .gs = t->app_gs, .mask = t->signal->mask};
	memcpy(left.regs, t->regs, sizeof left.regs);
	if (f->shorter) {
		left.regs[f->reg] = f->as_given;
		left.waited_ms = f->waited_ms;
	}
	return left;
}

/* `call_bytes`: length of the system call in which the thread is; t->pc is behind it. 0: none. */
static void __attribute__((noreturn)) leave(struct thread *t, u32 call_bytes)
{
	end_recording(t);
	mask(~0ull);
	tw_signal_requeue(t);
	give_altstack_back(t);
	tw_rseq_register(t, true);
	const struct tw_left left = state_of(t);
	park(TW_LEAVE_READY, &left);
	t->pc -= call_bytes;
	t->has_deferred &= ~(u64)TW_DEFERRED_LEAVE;
	tw_attach_again(t);
}

void tw_leave_or_deliver(struct thread *t)
{
	if (t->has_deferred & TW_DEFERRED_LEAVE)
		leave(t, 0);
	tw_signal_deliver_deferred(t);
}

/* The thread has been found in the cache, in this state; NULL: in a system call of the program. */
static void __attribute__((noreturn)) here(const struct tw_leave_state *s)
{
	struct thread *t = tw_thread_self();
	if (!s)
		leave(t, TW_SYSCALL_BYTES);
	if (tw_signal_leave_cache(t, s->regs, s->pc, s->flags))
		leave(t, 0);
	for (;;)
		park(TW_LEAVE_BUSY, NULL);
}

/* ---- the process ---- */

/* Why this process cannot be given back; NULL: it can. */
static const char *obstacle(const struct thread *t)
{
	if (tw_seccomp_used(t))
		return "it has installed system call filters (seccomp) while it was recorded, and only the engine applies them";
	if (t->kernel->user_dispatch.on)
		return "it redirects its system calls to itself (PR_SET_SYSCALL_USER_DISPATCH), and only the engine does that";
	for (const struct thread *o = tw_thread_any(NULL); o; o = tw_thread_any(o))
		if (o->pid != t->pid)
			return "another process shares its memory, as a child made by vfork does";
	return NULL;
}

static void note_areas(struct tw_left_process *p)
{
	u64 start, end = 0;
	while (p->n < TW_LEFT_AREAS - 1 && tw_memory_next_engine(end, &start, &end)) {
		p->area[p->n].start = start;
		p->area[p->n++].end = end;
	}
	tw_limits_filled(&start, &end);
	p->area[p->n].start = start;
	p->area[p->n++].end = end;
}

static void __attribute__((noreturn)) process(void)
{
	const struct thread *t = tw_thread_self();
	struct tw_left_process p = {0};
	const char *why = obstacle(t);
	while (why)
		park(TW_LEAVE_NEVER, why);
	tw_lock(&tw_engine.lock);
	tw_memory_unwatch_all();
	tw_unlock(&tw_engine.lock);
	if (tw_memory_brk_moved())
		tw_identity_tell_brk(tw_memory_brk_moved());
	tw_action_give_back(t);
	note_areas(&p);
	tw_mlock_give_back();
	for (;;)
		park(TW_LEAVE_READY, &p);
}

void tw_leave_tell(void)
{
	tw_engine.control->leave = (struct tw_leave_points){
	    .here = (u64)here,
	    .process = (u64)process,
	    .cache = ARENA_CACHE,
	    .cache_end = ARENA_CACHE_END,
	    .behind_call = (u64)tw_syscall_end,
	    .behind_call32 = (u64)tw_int80_end,
	    .stack_at = offsetof(struct thread, stack_top),
	    .deferred_at = offsetof(struct thread, has_deferred),
	};
}

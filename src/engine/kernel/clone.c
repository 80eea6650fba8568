#include "engine/kernel/clone.h"
#include "engine/kernel/room.h"
#include "engine/thread.h"
#include "engine/record/buffer.h"
#include "engine/signal/action.h"
#include "engine/code/flush.h"
#include "engine/code/memory.h"
#include "engine/signal/pending.h"
#include "engine/kernel/mlock.h"
#include "engine/kernel/process.h"
#include "engine/kernel/traced.h"
#include "engine/kernel/seccomp.h"
#include "engine/kernel/status.h"
#include "engine/signal/signal.h"
#include "engine/record/slot.h"
#include "engine/record/spare.h"
#include "engine/record/stack.h"
#include "engine/code/snapshot.h"
#include "engine/record/tally.h"
#include "engine/record/window.h"
#include "engine/x86_64/glue.h"
#include "engine/record/instrumentor.h"
#include "engine/record/recording.h"
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/sched.h>

/* What stands at the start of a thread's block. */
struct whole_thread {
	struct thread thread;
	struct tw_record_thread record;
	struct tw_code_thread code;
	struct tw_signal_thread signal;
	struct tw_kernel_thread kernel;
};

/* A block that is used for the first time. */
static bool begin_block(struct thread *t)
{
	return !tw_tallies() || tw_tally_close(t);
}

bool tw_threads_init(void)
{
	return tw_spare_init() && tw_thread_init(tw_tallies() ? tw_tally_bytes(tw_sizes()) : 0, tw_spare_set_aside(), begin_block);
}

/* All zeros, but for what the block's last thread had allocated. */
static void clear(struct whole_thread *w)
{
	struct tw_logged_ref *log = w->record.log;
	u8 *xsave = w->record.xsave;
	memset(w, 0, sizeof *w);
	w->record.log = log;
	w->record.xsave = xsave;
}

static void make(struct thread *t)
{
	struct whole_thread *w = (struct whole_thread *)t;
	clear(w);
	t->record = &w->record;
	t->code = &w->code;
	t->signal = &w->signal;
	t->kernel = &w->kernel;
	t->self = (u64)t;
	t->stack_top = (u64)t + THREAD_STACK_TOP;
	t->record->slot = t->record->promised = NO_SLOT;
	t->flags = 2;
}

struct thread *tw_thread_new(void)
{
	return tw_thread_take_block(make);
}

/* The thread's block may be reused; the number of threads is exact again. */
static void thread_gone(struct thread *t)
{
	tw_spare_disown(t);
	__atomic_fetch_sub(&tw_engine.n_threads, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&t->in_use, 0, __ATOMIC_RELEASE);
}

void tw_thread_adopt(struct thread *t)
{
	tw_sys(__NR_arch_prctl, ARCH_SET_GS, t, 0);
	t->pid = (u32)tw_sys(__NR_getpid, 0, 0, 0);
	t->tid = (u32)tw_sys(__NR_gettid, 0, 0, 0);
	t->lock_name = (t->lock_name & TW_LOCK_POLLS) | t->tid;
	tw_signal_thread(t);
}

void tw_thread_read_fs(struct thread *t)
{
	u64 fs;
	tw_sys(__NR_arch_prctl, ARCH_GET_FS, &fs, 0);
	t->app_fs = fs;
}

/* First code, on its own engine stack, of a thread that shares memory with its parent. */
static void thread_main(struct thread *t)
{
	u32 parent_pid = t->pid, parent_tid = t->tid;
	tw_thread_adopt(t);
	if (t->kernel->clear_handlers)
		tw_action_clear_handlers(t);
	tw_thread_read_fs(t);
	tw_recording_begin(t, parent_pid, parent_tid);
	tw_signal_set_mask(t, t->signal->mask);
	tw_resume_cache();
}

static void copy_state(struct thread *child, const struct thread *t, u64 stack)
{
	memcpy(child->regs, t->regs, sizeof t->regs);
	child->regs[TW_RAX] = 0;
	if (stack)
		child->regs[TW_RSP] = stack;
	child->flags = t->flags;
	child->pc = t->pc;
	child->app_gs = t->app_gs;
	child->pid = t->pid;
	child->tid = t->tid;
	child->signal->mask = t->signal->mask;
	child->kernel->seccomp = t->kernel->seccomp;
	child->record->unfollowed = t->record->unfollowed;
	child->record->promised = t->record->promised;
}

/*
 * Makes the system call. The child begins with all signals blocked: a signal sent to it immediately stays pending
 * until it has its own state.
 */
static i64 clone_blocked(const u64 *regs)
{
	u64 all = ~0ull, asynchronous = ~TW_SYNC_SIGNALS;
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	i64 r = tw_clone_thread(regs);
	if (r)
		tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &asynchronous, NULL, 8);
	return r;
}

/*
 * Makes the system call, with the child on its engine stack. A child that shares memory begins at thread_main;
 * another returns 0 from here.
 */
static i64 raw_clone(const struct tw_clone *c, struct thread *child)
{
	struct clone_args args = c->args;
	args.flags &= ~CLONE_CLEAR_SIGHAND;
	args.stack = args.stack_size = 0;
	u64 *top = child ? (u64 *)child->stack_top - 2 : NULL;
	if (child) {
		top[0] = (u64)child;
		top[1] = (u64)thread_main;
	}
	if (c->modern) {
		args.stack = (u64)child;
		args.stack_size = (u64)top - (u64)child;
		const u64 regs[6] = {__NR_clone3, (u64)&args, c->size};
		return clone_blocked(regs);
	}
	u64 parent_tid = args.flags & CLONE_PIDFD ? args.pidfd : args.parent_tid;
	const u64 regs[6] = {__NR_clone, args.flags | args.exit_signal, (u64)top, parent_tid, args.child_tid, args.tls};
	return clone_blocked(regs);
}

/* Is the child a process that is not to be recorded? */
static bool is_unfollowed(const struct tw_clone *c)
{
	return !(c->args.flags & CLONE_THREAD) && (tw_engine.control->flags & TW_FLAG_NO_FOLLOW);
}

static i64 clone_shared(struct thread *t, const struct tw_clone *c, u64 stack)
{
	struct thread *child = tw_thread_new();
	if (!child)
		return -11; /* EAGAIN */
	copy_state(child, t, stack);
	child->lock_name = c->args.flags & CLONE_THREAD ? t->lock_name & TW_LOCK_POLLS : TW_LOCK_POLLS;
	tw_action_share(child, t, c->args.flags & CLONE_SIGHAND);
	tw_pending_share(child, t, c->args.flags & CLONE_THREAD);
	child->signal->altstack = c->args.flags & CLONE_VFORK ? t->signal->altstack : (struct tw_altstack){.flags = SS_DISABLE};
	child->record->unfollowed |= is_unfollowed(c);
	child->vforked = (c->args.flags & CLONE_VFORK) != 0;
	child->kernel->clear_handlers = (c->args.flags & CLONE_CLEAR_SIGHAND) != 0;
	__atomic_fetch_add(&tw_engine.n_threads, 1, __ATOMIC_RELAXED);
	i64 r = raw_clone(c, child);
	/*
	 * A vforked child has executed another program or ended. (Of other children, nothing is read any more: the child may
	 * have ended, and its block may be another thread's.)
	 */
	if (tw_failed(r) || c->args.flags & CLONE_VFORK)
		thread_gone(child);
	return r;
}

/* A child with memory of its own continues here, with a copy of the parent's engine, which must not be in the middle of an operation. */
static i64 clone_copied(struct thread *t, const struct tw_clone *c, u64 stack)
{
	u32 parent_pid = t->pid, parent_tid = t->tid;
	tw_flush_lock_settled();
	tw_thread_lock_blocks();
	tw_action_lock();
	tw_seccomp_lock();
	i64 r = raw_clone(c, NULL);
	tw_seccomp_unlock();
	tw_action_unlock();
	tw_thread_unlock_blocks();
	tw_unlock(&tw_engine.lock);
	if (r == 0) {
		t->record->slot = NO_SLOT; /* the parent's */
		tw_signal_forget(t);
		tw_status_forked();
		t->lock_name = 0;
		tw_thread_adopt(t);
		tw_engine.pid = t->pid;
		tw_mlock_forget();
		tw_thread_forget_others(t);
		tw_spare_disown(t);
		t->vforked = false;
		t->record->unfollowed |= is_unfollowed(c);
		if (t->record->unfollowed)
			tw_window_close_for_good();
		t->kernel->user_dispatch.on = false;
		if (c->args.flags & CLONE_CLEAR_SIGHAND)
			tw_action_clear_handlers(t);
		tw_thread_read_fs(t);
		if (stack)
			t->regs[TW_RSP] = stack;
		t->regs[TW_RAX] = 0;
		t->record->n_log = 0;
		t->record->log_pc = 0;
		tw_recording_begin(t, parent_pid, parent_tid);
		tw_stack_tell(t);
		tw_snapshot_forked(t);
		tw_lock(&tw_engine.lock);
		tw_memory_forked();
		tw_unlock(&tw_engine.lock);
	}
	return r;
}

i64 tw_thread_clone(struct thread *t, const struct tw_clone *c)
{
	u64 all = ~TW_SYNC_SIGNALS, flags = c->args.flags;
	u64 stack = c->args.stack ? c->args.stack + c->args.stack_size : 0;
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	if (t->has_deferred) /* as natively: its handler runs before anything is made */
		return TW_SYSCALL_ABORTED;
	if (!is_unfollowed(c))
		tw_slot_promise(t, t->pid, t->tid);
	tw_traced_clone(t);
	if (flags & CLONE_NEWPID)
		tw_process_tell_namespace();
	i64 r = flags & CLONE_VM ? clone_shared(t, c, stack) : clone_copied(t, c, stack);
	tw_signal_set_mask(t, t->signal->mask);
	if (r)
		tw_slot_promised_to(t, tw_failed(r) ? 0 : flags & CLONE_THREAD ? t->pid : (u32)r, (u32)r);
	if (r > 0) {
		struct tw_fork e = {flags & CLONE_THREAD ? t->pid : (u32)r, (u32)r, flags, !is_unfollowed(c), 0, tw_buffer_time(t)};
		tw_buffer_event(t, TW_EVENT_FORK, &e, sizeof e, NULL, 0);
	}
	return r;
}

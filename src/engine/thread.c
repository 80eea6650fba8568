#include "engine/thread.h"
#include "engine/buffer.h"
#include "engine/action.h"
#include "engine/fragment.h"
#include "engine/held.h"
#include "engine/process.h"
#include "engine/seccomp.h"
#include "engine/signal.h"
#include "engine/slot.h"
#include "engine/snapshot.h"
#include "engine/syscall.h"
#include "engine/tally.h"
#include "engine/window.h"
#include "engine/x86_64/glue.h"
#include "instrument/instrumentor.h"
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/sched.h>

static u32 n_blocks; /* handed out at least once */
static tw_lock_t blocks_lock;

static u64 blocks, stride;

static struct thread *block_at(u32 i)
{
	return (struct thread *)(blocks + i * stride);
}

u32 tw_thread_index(const struct thread *t)
{
	return (u32)(((u64)t - blocks) / stride);
}

bool tw_thread_init(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	stride = THREAD_BYTES + (tw_tallies() ? TW_TALLY_BYTES : 0);
	i64 at = tw_mmap(THREADS_PLACE, TW_THREADS * stride, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
	if (tw_failed(at))
		at = tw_mmap(0, TW_THREADS * stride, PROT_NONE, flags, -1, 0);
	blocks = (u64)at;
	return !tw_failed(at);
}

bool tw_thread_place(u64 start, u64 end)
{
	return blocks && start < blocks + TW_THREADS * stride && end > blocks;
}

void tw_thread_leave_out_of_dump(void)
{
	tw_sys(__NR_madvise, blocks, TW_THREADS * stride, MADV_DONTDUMP);
}

static struct thread *find_block(void)
{
	const bool all_used =
	    __atomic_load_n(&tw_engine.n_threads, __ATOMIC_ACQUIRE) >= n_blocks; /* no more than there are blocks in use */
	for (u32 i = 0; i < n_blocks && !all_used; i++)
		if (!__atomic_load_n(&block_at(i)->in_use, __ATOMIC_ACQUIRE))
			return block_at(i);
	if (n_blocks == TW_THREADS)
		return NULL;
	struct thread *t = block_at(n_blocks);
	i64 r = tw_mmap((u64)t, THREAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (tw_failed(r) || (tw_tallies() && !tw_tally_close(t)))
		return NULL;
	__atomic_store_n(&n_blocks, n_blocks + 1, __ATOMIC_RELEASE);
	return t;
}

bool tw_thread_in_cache(const struct thread *t)
{
	u32 n = __atomic_load_n(&n_blocks, __ATOMIC_ACQUIRE);
	for (u32 i = 0; i < n; i++)
		if (block_at(i) != t && __atomic_load_n(&block_at(i)->in_use, __ATOMIC_ACQUIRE) &&
		    __atomic_load_n(&block_at(i)->in_cache, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

struct thread *tw_thread_new(void)
{
	tw_lock(&blocks_lock);
	struct thread *t = find_block();
	if (t) {
		struct tw_logged_ref *log = t->log;
		u8 *xsave = t->xsave;
		memset(t, 0, sizeof *t);
		t->log = log;
		t->xsave = xsave;
		t->in_use = 1;
		t->self = (u64)t;
		t->stack_top = (u64)t + THREAD_STACK_TOP;
		t->slot = t->promised = NO_SLOT;
		t->flags = 2;
	}
	tw_unlock(&blocks_lock);
	return t;
}

/* The block may be given to another thread; how many there are is known again. */
static void thread_gone(struct thread *t)
{
	tw_buffer_disown(t);
	__atomic_fetch_sub(&tw_engine.n_threads, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&t->in_use, 0, __ATOMIC_RELEASE);
}

struct thread *tw_thread_next(const struct thread *t, const struct thread *after)
{
	for (u32 i = after ? tw_thread_index(after) + 1 : 0; i < n_blocks; i++) {
		struct thread *other = block_at(i);
		if (__atomic_load_n(&other->in_use, __ATOMIC_ACQUIRE) && other->pid == t->pid && other != t)
			return other;
	}
	return NULL;
}

const struct thread *tw_thread_of(u32 tid)
{
	for (u32 i = 0; i < n_blocks; i++)
		if (__atomic_load_n(&block_at(i)->in_use, __ATOMIC_ACQUIRE) && block_at(i)->tid == tid)
			return block_at(i);
	return NULL;
}

struct thread *tw_thread_unblocked(const struct thread *t, int signo)
{
	struct thread *other = NULL;
	while ((other = tw_thread_next(t, other)) && other->sigmask >> (signo - 1) & 1)
		;
	return other;
}

void tw_thread_adopt(struct thread *t)
{
	tw_sys(__NR_arch_prctl, ARCH_SET_GS, t, 0);
	t->pid = (u32)tw_sys(__NR_getpid, 0, 0, 0);
	t->tid = (u32)tw_sys(__NR_gettid, 0, 0, 0);
	tw_signal_thread(t);
}

void tw_thread_finish(struct thread *t, i32 status, u32 what)
{
	tw_buffer_detach(t, status, what);
}

void tw_thread_exit(struct thread *t, i32 status, bool group)
{
	u64 all = ~0ull;
	u32 kept;
	bool last = t->pid == tw_engine.pid && group;
	bool process = group || t->vforked || (t->pid == tw_engine.pid && tw_engine.n_threads == 1);
	if (process)
		tw_snapshot_leave(t);
	tw_thread_finish(t, (status & 0xff) << 8, process ? TW_ENDED_PROCESS : TW_ENDED_THREAD);
	if (last)
		tw_sys(__NR_exit_group, status, 0, 0);
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	if (!t->vforked)
		__atomic_fetch_sub(&tw_engine.n_threads, 1, __ATOMIC_RELAXED);
	tw_exit_thread(t->vforked ? &kept : &t->in_use, status, group ? __NR_exit_group : __NR_exit);
}

/* The %fs base as the kernel has set it. */
static void read_fs(struct thread *t)
{
	u64 fs;
	tw_sys(__NR_arch_prctl, ARCH_GET_FS, &fs, 0);
	t->app_fs = fs;
}

/* First code of a thread that shares memory with its parent, on its own engine stack. */
static void thread_main(struct thread *t)
{
	u32 parent_pid = t->pid, parent_tid = t->tid;
	tw_thread_adopt(t);
	if (t->clear_handlers)
		tw_action_clear_handlers(t);
	read_fs(t);
	tw_buffer_attach(t, parent_pid, parent_tid);
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
	child->sigmask = t->sigmask;
	child->seccomp = t->seccomp;
	child->unfollowed = t->unfollowed;
	child->promised = t->promised;
}

/*
 * Makes the system call, with the child on its engine stack. A child that is to share memory begins at thread_main, another returns 0 from here.
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
		return tw_clone_thread(regs);
	}
	u64 parent_tid = args.flags & CLONE_PIDFD ? args.pidfd : args.parent_tid;
	const u64 regs[6] = {__NR_clone, args.flags | args.exit_signal, (u64)top, parent_tid, args.child_tid, args.tls};
	return tw_clone_thread(regs);
}

/* Is the child a process that is not to be recorded? */
static bool is_unfollowed(const struct tw_clone *c)
{
	return !(c->args.flags & CLONE_THREAD) && (tw_engine.control->flags & TW_FLAG_NO_FOLLOW);
}

/* Makes sure of the buffers that a thread about to be made may write to. */
static bool has_buffers(struct thread *child)
{
	if (!tw_engine.recorder->records)
		return true;
	return tw_buffer_spare() && (!tw_tallies() || child->promised == NO_SLOT || tw_buffer_own(child));
}

static i64 clone_shared(struct thread *t, const struct tw_clone *c, u64 stack)
{
	struct thread *child = tw_thread_new();
	if (!child)
		return -11; /* EAGAIN */
	copy_state(child, t, stack);
	tw_action_share(child, t, c->args.flags & CLONE_SIGHAND);
	if (c->args.flags & CLONE_VFORK)
		child->altstack = t->altstack;
	child->unfollowed |= is_unfollowed(c);
	child->vforked = (c->args.flags & CLONE_VFORK) != 0;
	child->clear_handlers = (c->args.flags & CLONE_CLEAR_SIGHAND) != 0;
	__atomic_fetch_add(&tw_engine.n_threads, 1, __ATOMIC_RELAXED);
	i64 r = has_buffers(child) ? raw_clone(c, child) : -11;
	if (tw_failed(r) || child->vforked) /* a vforked child is another program by now, or has ended */
		thread_gone(child);
	return r;
}

/* The threads of the parent are not in the child. */
static void forget_others(struct thread *t)
{
	for (u32 i = 0; i < n_blocks; i++)
		if (block_at(i) != t)
			block_at(i)->in_use = 0;
	tw_engine.n_threads = 1;
}

/* A child with memory of its own: it goes on right here, with the parent's engine as it was, which must not be in the middle of something. */
static i64 clone_copied(struct thread *t, const struct tw_clone *c, u64 stack)
{
	u32 parent_pid = t->pid, parent_tid = t->tid;
	tw_fragment_lock_settled();
	tw_lock(&blocks_lock);
	tw_action_lock();
	tw_seccomp_lock();
	i64 r = raw_clone(c, NULL);
	tw_seccomp_unlock();
	tw_action_unlock();
	tw_unlock(&blocks_lock);
	tw_unlock(&tw_engine.lock);
	if (r == 0) {
		tw_thread_adopt(t);
		tw_engine.pid = t->pid;
		forget_others(t);
		tw_buffer_disown(t);
		t->vforked = false;
		t->unfollowed |= is_unfollowed(c);
		if (t->unfollowed)
			tw_window_close_for_good();
		t->pending.signo = 0;
		t->has_pending = 0;
		t->user_dispatch.on = false;
		if (c->args.flags & CLONE_CLEAR_SIGHAND)
			tw_action_clear_handlers(t);
		read_fs(t);
		tw_held_forget(t);
		if (stack)
			t->regs[TW_RSP] = stack;
		t->regs[TW_RAX] = 0;
		t->n_log = 0;
		t->log_pc = 0;
		tw_buffer_attach(t, parent_pid, parent_tid);
		tw_snapshot_forked(t);
	}
	return r;
}

i64 tw_thread_clone(struct thread *t, const struct tw_clone *c)
{
	u64 all = ~TW_SYNC_SIGNALS, flags = c->args.flags;
	u64 stack = c->args.stack ? c->args.stack + c->args.stack_size : 0;
	/* The child takes its mask from its parent's, but only once it has a place to pend signals in. */
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	if (!is_unfollowed(c))
		tw_slot_promise(t, t->pid, t->tid);
	if (flags & CLONE_NEWPID)
		tw_process_tell_namespace();
	i64 r = flags & CLONE_VM ? clone_shared(t, c, stack) : clone_copied(t, c, stack);
	tw_signal_set_mask(t, t->sigmask);
	if (r)
		tw_slot_promised_to(t, tw_failed(r) ? 0 : flags & CLONE_THREAD ? t->pid : (u32)r, (u32)r);
	if (r > 0) {
		struct tw_fork e = {flags & CLONE_THREAD ? t->pid : (u32)r, (u32)r, flags, !is_unfollowed(c), 0, tw_buffer_time(t)};
		tw_buffer_event(t, TW_EVENT_FORK, &e, sizeof e, NULL, 0);
	}
	return r;
}

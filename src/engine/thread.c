#include "engine/thread.h"
#include "engine/buffer.h"
#include "engine/signal.h"
#include "engine/x86_64/glue.h"
#include "instrument/instrumentor.h"
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <linux/mman.h>
#include <linux/sched.h>

#define MAX_THREADS ((ARENA_THREADS_END - ARENA_THREADS) / THREAD_BYTES)

static u32 n_blocks; /* handed out at least once */
static tw_lock_t blocks_lock;

static struct thread *block_at(u32 i)
{
	return (struct thread *)(u64)(ARENA_THREADS + i * THREAD_BYTES);
}

static struct thread *find_block(void)
{
	for (u32 i = 0; i < n_blocks; i++)
		if (!__atomic_load_n(&block_at(i)->in_use, __ATOMIC_ACQUIRE))
			return block_at(i);
	if (n_blocks == MAX_THREADS)
		return NULL;
	struct thread *t = block_at(n_blocks);
	i64 r = tw_mmap((u64)t, THREAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (tw_failed(r))
		return NULL;
	n_blocks++;
	return t;
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
		t->slot = NO_SLOT;
		t->flags = 2;
	}
	tw_unlock(&blocks_lock);
	return t;
}

void tw_thread_adopt(struct thread *t)
{
	tw_sys(__NR_arch_prctl, ARCH_SET_GS, t, 0);
	t->pid = (u32)tw_sys(__NR_getpid, 0, 0, 0);
	t->tid = (u32)tw_sys(__NR_gettid, 0, 0, 0);
	tw_engine.pid = t->pid;
	tw_signal_thread(t);
}

void tw_thread_finish(struct thread *t, i32 status)
{
	tw_buffer_detach(t, status);
}

void tw_thread_exit(struct thread *t, i32 status)
{
	u64 all = ~0ull;
	tw_thread_finish(t, status);
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	__atomic_fetch_sub(&tw_engine.n_threads, 1, __ATOMIC_RELAXED);
	tw_exit_thread(&t->in_use, status);
}

/* First code of a thread that shares memory with its parent, on its own engine stack. */
static void thread_main(struct thread *t)
{
	u32 parent_pid = t->pid, parent_tid = t->tid;
	u64 fs;
	tw_thread_adopt(t);
	tw_engine.pid = parent_pid;
	tw_sys(__NR_arch_prctl, ARCH_GET_FS, &fs, 0);
	t->app_fs = fs;
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
}

static i64 clone_shared(struct thread *t, u64 flags, u64 stack, u64 ptid, u64 ctid, u64 tls, u64 exit_signal)
{
	struct thread *child = tw_thread_new();
	u64 all = ~TW_SYNC_SIGNALS;
	if (!child)
		return -11; /* EAGAIN */
	copy_state(child, t, stack);
	tw_signal_share(child, t, flags & CLONE_SIGHAND);
	if (!(flags & CLONE_THREAD))
		child->altstack = t->altstack;
	__atomic_fetch_add(&tw_engine.n_threads, 1, __ATOMIC_RELAXED);
	/* The child takes its mask from its parent's, but only once it has a place to pend signals in. */
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	child->sigmask = t->sigmask;
	i64 r = tw_clone_thread(flags | exit_signal, child->stack_top, ptid, ctid, tls, child, thread_main);
	tw_signal_set_mask(t, t->sigmask);
	if (tw_failed(r)) {
		__atomic_fetch_sub(&tw_engine.n_threads, 1, __ATOMIC_RELAXED);
		child->in_use = 0;
	}
	return r;
}

/* A child with memory of its own: it goes on right here, with the parent's engine as it was. */
static i64 clone_copied(struct thread *t, u64 flags, u64 stack, u64 ptid, u64 ctid, u64 tls, u64 exit_signal)
{
	u32 parent_pid = t->pid, parent_tid = t->tid;
	u64 all = ~TW_SYNC_SIGNALS, fs;
	tw_lock(&tw_engine.lock); /* so that the child's copy is whole */
	tw_sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	i64 r = tw_sys6(__NR_clone, flags | exit_signal, 0, ptid, ctid, tls, 0);
	tw_unlock(&tw_engine.lock);
	if (r == 0) {
		tw_thread_adopt(t);
		tw_engine.n_threads = 1;
		t->pending.signo = 0;
		t->has_pending = 0;
		tw_sys(__NR_arch_prctl, ARCH_GET_FS, &fs, 0);
		t->app_fs = fs;
		if (stack)
			t->regs[TW_RSP] = stack;
		t->regs[TW_RAX] = 0;
		t->n_log = 0;
		t->log_pc = 0;
		tw_buffer_attach(t, parent_pid, parent_tid);
	}
	return r;
}

i64 tw_thread_clone(struct thread *t, u64 flags, u64 stack, u64 ptid, u64 ctid, u64 tls, u64 exit_signal)
{
	u64 mask = t->sigmask;
	i64 r = flags & CLONE_VM ? clone_shared(t, flags, stack, ptid, ctid, tls, exit_signal)
	                         : clone_copied(t, flags, stack, ptid, ctid, tls, exit_signal);
	tw_signal_set_mask(t, mask);
	if (r > 0) {
		struct tw_fork e = {flags & CLONE_THREAD ? t->pid : (u32)r, (u32)r, flags};
		tw_buffer_event(t, TW_EVENT_FORK, &e, sizeof e, NULL, 0);
	}
	return r;
}

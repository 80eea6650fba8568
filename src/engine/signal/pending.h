/*
 * Pending synchronous signals. The kernel must not block these while the thread runs in the cache or in the engine
 * (signal.h), so a signal that was merely sent (kill, sigqueue, a timer, a child's end) arrives there even while the
 * application blocks it. It is kept here, one of each number for each thread and one for its process, as in the
 * kernel, until a thread unblocks it, waits for it, reads it, or executes another program.
 *
 * What must hold:
 *  - In a system call of the application's that may wait, the kernel blocks them as the application does, and also
 *    those that it ignores: none of them interrupts a call that it would not interrupt natively. The thread is *shut*
 *    then (tw_pending_shut, tw_pending_open); nothing may fault. The kernel keeps what comes meanwhile, and delivers
 *    it when the thread opens.
 *  - The kernel's own calls (sigtimedwait, signalfd, poll) must find what is kept here. For each signal kept for it,
 *    a shut thread has a *mark* in its kernel queue: a signal of that number that means only "look here". It is made
 *    when the thread shuts, and when a signal is kept that another, shut thread may take. When the kernel returns a
 *    mark, it is replaced by the signal itself, if that still exists; a mark that comes back is dropped.
 *  - A thread that keeps a signal and then looks for a thread that takes it, and a thread that shuts or unblocks and
 *    then looks here, cannot miss each other: both write first.
 *
 * Called by the thread itself; tw_pending_keep and tw_pending_take also from its signal handler.
 */
#ifndef TW_PENDING_H
#define TW_PENDING_H

#include "engine/signal/room.h"

/* A new thread has its parent's process, or is one of its own. */
void tw_pending_share(struct thread *child, struct thread *parent, bool is_thread);

/* A thread without a given process belongs to the first one in this memory. */
void tw_pending_thread(struct thread *t);

/* Synchronous signals that must not interrupt a call of the thread: blocked, or ignored. */
static inline u64 tw_pending_quiet(const struct thread *t)
{
	return (t->signal->mask | t->signal->actions->ignored) & TW_SYNC_SIGNALS;
}

/* Around a system call of the application's, with these signals blocked. `marked`: it may find what is kept. */
void tw_pending_shut(struct thread *t, u64 quiet, bool marked);
void tw_pending_open(struct thread *t);

/* Has this process been sent synchronous signals that it blocked or ignored? Until then only timed calls need be made shut. */
extern bool tw_pending_seen;

/* Has this process made marks? Then a signal that reaches a thread which does not block it may be one, too. */
extern bool tw_pending_marked;

/* Is it a mark? */
bool tw_pending_is_mark(const siginfo_t *info);

/* Keeps a synchronous signal that was sent to the thread or to its process; a further one of its number is dropped, as in the kernel. */
void tw_pending_keep(struct thread *t, int signo, const siginfo_t *info);

/* Takes one of this number out again; false: there is none. */
bool tw_pending_take(struct thread *t, int signo, siginfo_t *info);

/* The application ignores this signal from now on: pending instances are dropped. */
void tw_pending_drop(struct thread *t, int signo);

/* The application sends this signal to a thread of its process, not to the process. */
void tw_pending_directed(struct thread *t, u32 tid, int signo);

/* Makes a signal that `mask` lets through the thread's deferred signal, with all others blocked in the kernel. False: there is none. */
bool tw_pending_release(struct thread *t, u64 mask);

/* In a new process: nothing is pending there. */
void tw_pending_forget(struct thread *t);

/*
 * Before execve, with the application's own mask in the kernel: hands all of them to the kernel, which keeps them
 * pending for the new program.
 */
void tw_pending_requeue(struct thread *t);

/* System calls (syscall.c): results as the kernel's. TW_PENDING_PASS: the kernel must answer. */
#define TW_PENDING_PASS (-513)
i64 tw_pending_sigpending(struct thread *t, u64 set, u64 size);
i64 tw_pending_sigtimedwait(struct thread *t, u64 set, u64 info, u64 size);

/*
 * The kernel's sigtimedwait for `set` has returned this result, and *info. True: it was a mark for a signal that no
 * longer exists, or one that the application ignores; the wait must continue. A mark's *info becomes that of its
 * signal.
 */
bool tw_pending_goes_on(struct thread *t, u64 set, i64 result, siginfo_t *info);

/*
 * A shut thread has read `bytes` at `buffer`: if this came from a signalfd, marks are replaced by their signals.
 * Returns how many bytes are left; 0: the call must be repeated.
 */
i64 tw_pending_read(struct thread *t, u64 buffer, i64 bytes);

#endif

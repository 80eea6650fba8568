/*
 * Pending synchronous signals. The kernel must not block these while the thread runs in the cache or in the engine (signal.h), so one that was merely sent (kill, sigqueue,
 * a timer, a child's end) arrives there even while the application blocks it. It is kept here, one of each number for each thread and one for its process, as the kernel
 * would, until a thread unblocks it, waits for it, reads it, or executes another program.
 *
 * What must hold:
 *  - In a system call of the application's that may wait, the kernel blocks them as the application does, and also those that it ignores: none of them
 *    interrupts a call that it would not natively. The thread is *shut* then (tw_pending_shut, tw_pending_open); nothing may fault. What comes
 *    meanwhile is the kernel's to keep, and arrives when the thread opens.
 *  - What is kept here the kernel's own calls (sigtimedwait, signalfd, poll) must find as well. For each signal that is kept for it a shut thread has a *mark* in its queue in
 *    the kernel: a signal of that number that says no more than to look here. It is made when the thread shuts, and when a signal is kept that another, shut thread may
 *    take. What the kernel hands out with a mark is made the signal itself, if it is still there; a mark that comes back is dropped.
 *  - Who keeps one and then looks for a thread that takes it, and who shuts or unblocks and then looks here, cannot miss each other: both write first.
 *
 * Called by the thread itself, tw_pending_keep and tw_pending_take from its signal handler too.
 */
#ifndef TW_PENDING_H
#define TW_PENDING_H

#include "engine/signal/room.h"

/* A new thread has its parent's process, or is one of its own. */
void tw_pending_share(struct thread *child, struct thread *parent, bool is_thread);

/* A thread that was given no process is of the first one in this memory. */
void tw_pending_thread(struct thread *t);

/* The synchronous signals that must not interrupt a call of the thread's: blocked, or ignored. */
static inline u64 tw_pending_quiet(const struct thread *t)
{
	return (t->signal->mask | t->signal->actions->ignored) & TW_SYNC_SIGNALS;
}

/* Around a system call of the application's, with these signals blocked. `marked`: it may find what is kept. */
void tw_pending_shut(struct thread *t, u64 quiet, bool marked);
void tw_pending_open(struct thread *t);

/* Has this process been sent synchronous signals that it blocked or ignored? Until then only calls that go by time need be made shut. */
extern bool tw_pending_seen;

/* Has this process made marks? Then what threads get that do not block them may be one, too. */
extern bool tw_pending_marked;

/* Is it a mark? */
bool tw_pending_is_mark(const siginfo_t *info);

/* Keeps a synchronous signal that was sent to the thread or to its process; another one of its number is dropped, as the kernel does. */
void tw_pending_keep(struct thread *t, int signo, const siginfo_t *info);

/* Takes one of this number out again; false: there is none. */
bool tw_pending_take(struct thread *t, int signo, siginfo_t *info);

/* The application ignores this one from now on: what is pending of it is dropped. */
void tw_pending_drop(struct thread *t, int signo);

/* The application sends this one to a thread of its process: it is not the process's. */
void tw_pending_directed(struct thread *t, u32 tid, int signo);

/* Makes one that `mask` lets through the thread's deferred signal, with all others blocked in the kernel. False: there is none. */
bool tw_pending_release(struct thread *t, u64 mask);

/* In a new process: nothing is pending there. */
void tw_pending_forget(struct thread *t);

/* Before execve, with the kernel's mask the application's own: hands all of them to the kernel, which keeps them pending for the new program. */
void tw_pending_requeue(struct thread *t);

/* System calls (syscall.c): results as the kernel's. TW_PENDING_PASS: it is for the kernel to answer. */
#define TW_PENDING_PASS (-513)
i64 tw_pending_sigpending(struct thread *t, u64 set, u64 size);
i64 tw_pending_sigtimedwait(struct thread *t, u64 set, u64 info, u64 size);

/*
 * The kernel's sigtimedwait for `set` has given this result, and *info. True: it was a mark for one that is there no more, or one that the application ignores; the wait
 * is to go on. A mark's *info becomes that of what it stands for.
 */
bool tw_pending_goes_on(struct thread *t, u64 set, i64 result, siginfo_t *info);

/*
 * A shut thread has read `bytes` at `buffer`: where these are a signalfd's, marks become what they stand for. Returns how many bytes are left; 0: the call is to be made again.
 */
i64 tw_pending_read(struct thread *t, u64 buffer, i64 bytes);

#endif

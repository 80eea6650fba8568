/*
 * Flushing the code cache: translations are thrown away all at once, when no thread is in the cache.
 *
 * What must hold:
 *  - Each fragment is made stale first, so that threads come out at their next branch and wait. A thread is in the cache from when it is told where to enter until its next system call or until
 *    it waits there: so long, what it knows of fragments and exits stays valid.
 *  - A thread that another of the same memory traces may have stopped in the cache, and its tracer may be who waits for it to come out, or who waits for who does. So where there is room, but what
 *    fills it is mostly stale, nobody waits for long: then all stays where it is, stale, and threads forget what they know as if it had been thrown away.
 *  - Where a thread comes by the dispatcher each time (after a system call), the exit it left by keeps the fragment it went on with (exit.again), and
 *    the thread goes on with that without the lock (tw_flush_again). It first says that it is in the cache, then looks whether translations are being or
 *    have been thrown away, and only then follows the pointer; who throws them away first says so, then looks who is in the cache. (Each store is seen before
 *    the load behind it: sequentially consistent.) So what the pointer leads to is there. It may become stale at any moment: then the thread
 *    meets the breakpoint at its entry, like one that got the fragment under the lock and let go of that.
 */
#ifndef TW_FLUSH_H
#define TW_FLUSH_H

#include "engine/code/fragment.h"

struct instrumentor;

/*
 * Before t goes into the cache, under the lock (which it may release for a while): throws all translations away when the cache, the stubs or the heap
 * are nearly full, or most of what is there is stale, and waits while another thread does. True: translations were thrown away since t last came here: it must forget
 * what it knows of any, such as the exit it came by. From here on t is in the cache (thread.code.in_cache).
 */
bool tw_flush_make_room(struct thread *t);

/*
 * Makes another instrumentor the one that is used. With several threads it first throws all translations away likewise: so no thread is in the cache then.
 * Under the lock, from the dispatcher, which must forget by which exit it came.
 */
void tw_flush_switch(struct thread *t, const struct instrumentor *to);

/*
 * Throws all translations away with the memory they are in. Only for a process's only thread, in the dispatcher, where it forgets by which exit it came: as when
 * they were thrown away while it was in a system call. False, and nothing has happened: the program has all the mappings that the kernel allows.
 */
bool tw_flush_restart(void);

/*
 * Without the lock: the fragment at t->pc that was gone on with when x was last left by, and t is in the cache; or NULL, and what is known of x may be void.
 */
struct fragment *tw_flush_again(struct thread *t, const struct exit *x);

/* t leaves the cache for a time that it does not know the length of (a system call), holding nothing of it. */
static inline void tw_flush_left_cache(struct thread *t)
{
	__atomic_store_n(&t->code->in_cache, false, __ATOMIC_RELEASE);
}

/* Takes the engine's lock when no thread is about to throw translations away. */
void tw_flush_lock_settled(void);

#endif

/*
 * Flushing the code cache: all translations are discarded at once, when no thread is in the cache.
 *
 * What must hold:
 *  - Each fragment is made stale first, so that threads leave at their next branch and wait. A thread counts as in
 *    the cache from the time it is told where to enter until its next system call, or until it waits in the
 *    dispatcher. During that time, what it knows of fragments and exits stays valid.
 *  - A thread that another thread of the same memory traces may be stopped in the cache, and its tracer may be the
 *    one that waits for it to leave, or may wait for the one that does. So if there is still room in the cache, and
 *    it is mostly filled with stale code, nobody waits for long: everything stays where it is, stale, and threads
 *    forget what they know as if it had been discarded.
 *  - Where a thread enters the dispatcher each time (after a system call), the exit it left by remembers the fragment
 *    that followed (exit.again), and the thread continues with that fragment without the lock (tw_flush_again). It
 *    first marks itself as in the cache, then checks whether translations are being or have been discarded, and only
 *    then follows the pointer. Whoever discards them first announces it, then checks who is in the cache. (Each store
 *    is visible before the load after it: sequentially consistent.) So the fragment still exists. It may become stale
 *    at any moment; then the thread runs into the breakpoint at its entry, like one that got the fragment under the
 *    lock and released that.
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

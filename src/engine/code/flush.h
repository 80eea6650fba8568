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
 * Before t enters the cache, under the lock (which it may release temporarily): discards all translations if the
 * cache, the stubs or the heap are nearly full, or most of them are stale, and waits while another thread does so.
 * True: translations were discarded since t last called this: it must forget all it knows of them, such as the exit
 * by which it came. From here on t is in the cache (thread.code.in_cache).
 */
bool tw_flush_make_room(struct thread *t);

/*
 * Makes another instrumentor the current one. With several threads it first discards all translations in the same
 * way, so that no thread is in the cache. Under the lock, from the dispatcher, which must forget the exit by which it
 * came.
 */
void tw_flush_switch(struct thread *t, const struct instrumentor *to);

/*
 * Discards all translations together with their memory. Only for a process's only thread, in the dispatcher, which
 * forgets the exit by which it came, as if they had been discarded during a system call. False, and nothing has
 * happened: the program has all the mappings that the kernel allows.
 */
bool tw_flush_restart(void);

/*
 * Without the lock: the fragment at t->pc that followed when x was last taken, with t in the cache; or NULL, and what
 * is known of x may be invalid.
 */
struct fragment *tw_flush_again(struct thread *t, const struct exit *x);

/* t leaves the cache for an unknown time (a system call), holding no reference into it. */
static inline void tw_flush_left_cache(struct thread *t)
{
	__atomic_store_n(&t->code->in_cache, false, __ATOMIC_RELEASE);
}

/* Takes the engine's lock when no thread is about to discard translations. */
void tw_flush_lock_settled(void);

#endif

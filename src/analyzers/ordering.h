/*
 * What orders threads: happens-before, derived from calls that create and join threads, lock, signal, wait, hand over
 * work or data, and from atomic variables.
 *
 * Every thread has a vector clock. Whatever gives something away (unlocks, signals, arrives at a barrier, stores to
 * an atomic variable) *releases*: it adds what its thread knows to the clocks of the thing, and advances its thread's
 * own clock. Whatever gets something *acquires*: it learns what those clocks know.
 *
 * The replay order of threads is right for this if a release counts from the entry into the call and an acquire from
 * its return: a release then precedes what waits for it, by the time stamps of both.
 *
 * Processes are ordered like threads: by fork and wait, by data in shared memory (shared_memory.h), by signals, pipes
 * and sockets; and by objects that the kernel keeps for them (file locks, System V semaphores and message queues),
 * which are not distinguished from each other.
 *
 * OpenMP's threads are ordered by calls of libgomp's entry points. A thread of a parallel region starts it when the
 * library's code reaches the region's function, and has ended it when that returns. The same holds for tasks, which
 * are tracked individually, with their dependences (ordering_tasks.h). A deferred task has a clock of its own while
 * it runs, as if it were a thread: nothing orders it after what its thread did before. Each thread has a few such
 * clocks, which it uses in turn.
 */
#ifndef TW_ORDERING_H
#define TW_ORDERING_H

#include "analyzers/held.h"
#include "analyzers/ordering_openmp.h"

int tw_ordering_init(struct tw_ordering *o, const struct tw_context *c); /* 0 or TW_ERR_MEMORY; tw_ordering_free in any case */
void tw_ordering_free(struct tw_ordering *o);

/* All return 0 or TW_ERR_MEMORY. */

/*
 * Is the thread new, and has the event that it was created not come yet? `e` is its first event. For calls that
 * create threads (pthread_create) nothing need be awaited: knowledge counts from their entry.
 */
int tw_ordering_awaits_fork(const struct tw_ordering *o, const struct tw_ordering_thread *t, const struct tw_thread_start *e);

/* An event of the thread, except calls: threads start, end, are created. */
int tw_ordering_event(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_event *e);

/* A call of the thread that is not within a closed one. */
int tw_ordering_call(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step);

/* ... and what that was to a lock. */
int tw_ordering_lock(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_held_step *held);

/* The thread, within pthread_once of this control, starts what is run once: perhaps again, after an exception. */
int tw_ordering_begins_once(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t control);

/* It wakes those that wait at this address: if that is the control of what it runs once, that has returned or was left. */
int tw_ordering_wakes(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr);

#endif

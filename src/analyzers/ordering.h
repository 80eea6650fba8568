/*
 * What orders threads: happens-before, from the calls that make and await threads, lock, signal, wait, hand work or data over, and from atomic variables.
 *
 * Every thread has a vector clock. What gives something away (unlocks, signals, arrives at a barrier, stores to an atomic variable) *releases*: it adds what its thread knows to the
 * clocks of the thing, and its thread's own clock goes on. What gets something *acquires*: it learns what those clocks know.
 *
 * The order in which threads are replayed is right for that where a release counts from when the call is entered and an acquire from when the call has returned: the one is before what
 * the other waits for, by the time stamps of both.
 *
 * Processes are ordered as threads are: by fork and wait, by what lies in memory that they share (shared_memory.h), by signals, pipes and sockets; and by what the kernel keeps for them (file
 * locks, System V's semaphores and queues of messages), of which it is not looked at which one it is.
 *
 * OpenMP's threads are ordered by the entries of libgomp. A thread of a parallel region begins it where the library's code comes to the region's function, and has ended it where that
 * returns; likewise tasks, which are known one by one, with what they depend on (ordering_tasks.h). A task that is deferred has a clock of its own while it runs, as if it were a
 * thread: nothing orders it behind what its thread did before. Each thread has a few such clocks, which it uses in turn.
 */
#ifndef TW_ORDERING_H
#define TW_ORDERING_H

#include "analyzers/held.h"
#include "analyzers/ordering_openmp.h"

int tw_ordering_init(struct tw_ordering *o, const struct tw_context *c); /* 0 or TW_ERR_MEMORY; tw_ordering_free in any case */
void tw_ordering_free(struct tw_ordering *o);

/* All return 0 or TW_ERR_MEMORY. */

/*
 * Is the thread new, and has its maker not been told yet that it made it? `e` is what it begins with. Of calls that make threads (pthread_create) nothing needs to be awaited: what is known then counts from
 * where they are entered.
 */
int tw_ordering_awaits_fork(const struct tw_ordering *o, const struct tw_ordering_thread *t, const struct tw_thread_start *e);

/* An event of the thread, other than of calls: threads that begin, end, are made. */
int tw_ordering_event(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_event *e);

/* A call of the thread, with no call around it that is closed. */
int tw_ordering_call(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step);

/* ... and what that was to a lock. */
int tw_ordering_lock(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_held_step *held);

/* The thread, within pthread_once of this control, begins what is run once: perhaps again, since it was left by an exception. */
int tw_ordering_begins_once(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t control);

/* It wakes those that wait at this address: where that is the control of what it runs once, that has returned or was left. */
int tw_ordering_wakes(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr);

#endif

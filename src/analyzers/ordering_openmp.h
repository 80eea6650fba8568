/*
 * OpenMP's threads (ordering.h): regions, their barriers, tasks. Functions return 0 or TW_ERR_MEMORY unless stated
 * otherwise.
 */
#ifndef TW_ORDERING_OPENMP_H
#define TW_ORDERING_OPENMP_H

#include "analyzers/calling.h"
#include "analyzers/ordering_things.h"

/* The thread whose clock, or whose task's, has this number. */
size_t tw_ordering_runner(const struct tw_ordering *o, size_t who);

/* The task with a clock of its own that the thread runs; NULL: none. Does it use its thread's part of a reduction? */
const struct tw_ordering_frame *tw_ordering_deferred(const struct tw_ordering_thread *t);
int tw_ordering_reduces(const struct tw_ordering *o, const struct tw_ordering_frame *f);

/* A call of one of libgomp's entry points starts, or has ended; others are ignored. */
int tw_ordering_enter_openmp(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step);
int tw_ordering_leave_openmp(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step);

/*
 * The library's code has reached the program's at pc, with this many open calls: a region or task may start. *waits:
 * nobody has started it yet, so the thread that does must be replayed first.
 */
int tw_ordering_comes(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t pc, size_t depth, int *waits);

/* The library's code has accessed this address. */
static inline void tw_ordering_reads(struct tw_ordering_thread *t, uint64_t addr)
{
	t->read[t->n_read++ % TW_ORDERING_READ] = addr;
}

/* The same of n addresses, in their order. */
static inline void tw_ordering_reads_all(struct tw_ordering_thread *t, const uint64_t *addr, size_t n)
{
	for (size_t i = n > TW_ORDERING_READ ? n - TW_ORDERING_READ : 0; i < n; i++)
		tw_ordering_reads(t, addr[i]);
}

/* Is the region or task that the library called last over, now that this many calls are open? */
static inline int tw_ordering_has_ended(const struct tw_ordering_thread *t, size_t depth)
{
	const struct tw_ordering_frame *f = t->n_frames ? &t->frames[t->n_frames - 1] : NULL;
	return f && f->depth != SIZE_MAX && depth < f->depth;
}

/* The library's code runs, with this many open calls: a region or task may have ended. */
int tw_ordering_goes(struct tw_ordering *o, struct tw_ordering_thread *t, size_t depth);

#endif

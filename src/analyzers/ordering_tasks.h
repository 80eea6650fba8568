/*
 * Tasks of OpenMP one by one (ordering.h): which of those that were made it is that runs, what it depends on, and whom it is made by.
 *
 * What a task depends on is in its CALL event. libgomp keeps each deferred task in a block that it allocates while it is made, and reads the task's function there just before it calls that: so it is told
 * which one runs. Tasks depend on those that the same code made before. Of what is not known (dependence objects, lists that are too long) a task counts as depending on all.
 *
 * Functions return 0 or TW_ERR_MEMORY unless something else is said.
 */
#ifndef TW_ORDERING_TASKS_H
#define TW_ORDERING_TASKS_H

#include "analyzers/calling.h"
#include "analyzers/ordering_things.h"

/* What makes tasks: a task, or a thread's part of a region. Its number, from 1 on; 0: no memory. It is kept until it has ended and all that it made have. */
uint32_t tw_ordering_maker_new(struct tw_ordering *o);
void tw_ordering_maker_drop(struct tw_ordering *o, uint32_t number);

/* What those know that the maker made, and that have ended. */
const struct tw_clocks *tw_ordering_maker_children(const struct tw_ordering *o, uint32_t number);

/* The thread, within a region, makes a task of this function by a call that is given this list. */
int tw_ordering_made_new(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t function, const uint64_t *list, size_t n);

/* The library allocates a block while the thread makes one; `several`: it makes one for each block. */
int tw_ordering_made_block(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t block, uint64_t bytes, int several);

/* The program's code, called while the thread makes one, has returned: what it did comes before the task, too. */
int tw_ordering_made_more(struct tw_ordering *o, struct tw_ordering_thread *t);

/* The thread has made it, and forgets it where it is not waiting in a block. */
void tw_ordering_made_leave(struct tw_ordering *o, struct tw_ordering_thread *t);

/* The one of this function that runs now, as what the library read last tells. Its number, from 1 on; 0: it is not known. */
uint32_t tw_ordering_made_runs(const struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t function);

int tw_ordering_made_begin(struct tw_ordering *o, struct tw_ordering_thread *t, uint32_t number);
int tw_ordering_made_end(struct tw_ordering *o, const struct tw_ordering_thread *t, uint32_t number);
void tw_ordering_made_drop(struct tw_ordering *o, uint32_t number); /* behind the end, or without one */

/* A detached task is over: what the thread did comes before all that waits for tasks, of whichever maker, since which task it is is not told. */
int tw_ordering_made_fulfill(struct tw_ordering *o, struct tw_ordering_thread *t);

/* All of a region that do not run yet never will: they were none. */
void tw_ordering_made_forget(struct tw_ordering *o, uint32_t team);

/* The thread has waited for the tasks that these dependences depend on. */
int tw_ordering_made_wait(struct tw_ordering *o, struct tw_ordering_thread *t, const uint64_t *list, size_t n);

void tw_ordering_tasks_free(struct tw_ordering *o);

#endif

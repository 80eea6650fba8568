/*
 * OpenMP tasks, individually (ordering.h): which of the created tasks runs, what it depends on, and who created it.
 *
 * The dependences of a task are in its CALL event. libgomp keeps each deferred task in a block that it allocates
 * while creating it, and reads the task's function there just before it calls that: this tells which task runs. Tasks
 * depend on those that the same code created before. If something is not known (dependence objects, lists that are
 * too long) a task counts as depending on all.
 *
 * Functions return 0 or TW_ERR_MEMORY unless stated otherwise.
 */
#ifndef TW_ORDERING_TASKS_H
#define TW_ORDERING_TASKS_H

#include "analyzers/calling.h"
#include "analyzers/ordering_things.h"

/*
 * A creator of tasks: a task, or a thread's part of a region. Its number, from 1; 0: no memory. It is kept until it
 * has ended and everything it created has.
 */
uint32_t tw_ordering_maker_new(struct tw_ordering *o);
void tw_ordering_maker_drop(struct tw_ordering *o, uint32_t number);

/* The combined knowledge of the creator's tasks that have ended. */
const struct tw_clocks *tw_ordering_maker_children(const struct tw_ordering *o, uint32_t number);

/* The thread, within a region, creates a task of this function by a call with this list. */
int tw_ordering_made_new(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t function, const uint64_t *list, size_t n);

/* The library allocates a block while the thread creates a task; `several`: it creates one for each block. */
int tw_ordering_made_block(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t block, uint64_t bytes, int several);

/* The program's code, called while the thread creates a task, has returned: what it did precedes the task, too. */
int tw_ordering_made_more(struct tw_ordering *o, struct tw_ordering_thread *t);

/* The thread has created it, and forgets it unless it is waiting in a block. */
void tw_ordering_made_leave(struct tw_ordering *o, struct tw_ordering_thread *t);

/* The task of this function that runs now, according to what the library read last. Its number, from 1; 0: not known. */
uint32_t tw_ordering_made_runs(const struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t function);

int tw_ordering_made_begin(struct tw_ordering *o, struct tw_ordering_thread *t, uint32_t number);
int tw_ordering_made_end(struct tw_ordering *o, const struct tw_ordering_thread *t, uint32_t number);
void tw_ordering_made_drop(struct tw_ordering *o, uint32_t number); /* behind the end, or without one */

/*
 * A detached task is complete: what the thread did precedes everything that waits for tasks, of any creator, since it
 * is not known which task it is.
 */
int tw_ordering_made_fulfill(struct tw_ordering *o, struct tw_ordering_thread *t);

/* Those of a region that do not run yet never will: they were no tasks. */
void tw_ordering_made_forget(struct tw_ordering *o, uint32_t team);

/* The thread has waited for the tasks on which these dependences depend. */
int tw_ordering_made_wait(struct tw_ordering *o, struct tw_ordering_thread *t, const uint64_t *list, size_t n);

void tw_ordering_tasks_free(struct tw_ordering *o);

#endif

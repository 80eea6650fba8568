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
 * returns; likewise tasks. Tasks with dependences are ordered as if each depended on all of these that ended before it. A task that is deferred has a clock of its own while it runs, as if it were a
 * thread: nothing orders it behind what its thread did before. Each thread has a few such clocks, which it uses in turn.
 */
#ifndef TW_ORDERING_H
#define TW_ORDERING_H

#include "analyzers/calling.h"
#include "analyzers/clocks.h"
#include "analyzers/descriptors.h"
#include "analyzers/held.h"
#include "analyzers/shared_memory.h"

struct tw_ordering_team;
struct tw_ordering_thing;

/* A parallel region or task that a thread is in. */
struct tw_ordering_frame {
	uint32_t team;  /* number */
	uint32_t task;  /* number and 1; 0: it is the region itself */
	uint32_t phase; /* barriers of the region that it has passed */
	size_t depth;   /* calls open in the thread when it began; SIZE_MAX: the thread made it */
	/* of a task that has a clock of its own: what the thread was before */
	int deferred;
	uint32_t own; /* which of the thread's clocks for tasks */
	size_t who;
	uint32_t clock;
	struct tw_clocks clocks;
};

enum { TW_ORDERING_ONCE = 4 };
enum { TW_ORDERING_TASK_CLOCKS = 8 }; /* of a thread, for the tasks that it runs */

struct tw_ordering_thread {
	size_t index;
	size_t who;                /* whose clock `clock` is: its index, or that of the task that it runs */
	uint32_t process, program; /* program: tw_process_program */
	struct tw_clocks clocks;
	uint32_t clock;                  /* its own */
	struct tw_clocks at_create;      /* as it is about to make a thread... */
	int creates;                     /* ... which it does */
	int has_begun;                   /* its beginning was told */
	uint32_t signal;                 /* that has come, and whose time comes with the next keyframe; 0: none */
	int uses_kernel;                 /* file locks and the like */
	uint64_t fs;                     /* where its thread-local storage is: its name in pthreads; 0: not known */
	uint64_t once[TW_ORDERING_ONCE]; /* controls of what it may run once now, one within the other; 0: none */
	uint64_t arrived;                /* barrier: which time of it */
	int ended;
	struct tw_ordering_frame *frames;
	size_t n_frames, frames_room;
	uint32_t ended_team; /* the last region whose part it has ended; 0: none */
	int includes;        /* it makes a task that it runs at once */
	uint32_t n_deferred; /* tasks that it has run with a clock of their own */
	uint32_t task_clock[TW_ORDERING_TASK_CLOCKS];
};

/* A thread that is being made: what it will know. */
struct tw_ordering_birth {
	uint32_t process, tid;
	struct tw_clocks clocks;
};

/* A thread has read an atomic variable before all could be looked at that may have been written there: what it read may be newer. */
struct tw_ordering_early {
	size_t reader, who;
	uint32_t program, clock; /* clock: of the thread, until it read */
	uint64_t addr;
};

/* All zeros, but for what is set by tw_ordering_init. */
struct tw_ordering {
	struct tw_ordering_thread *threads; /* by index in the recording */
	size_t n_threads;
	struct tw_descriptors descriptors;
	struct tw_shared_memory shared;
	int without_locks;                /* locks order nothing (lockset.h) */
	struct tw_ordering_thing *things; /* open hash */
	size_t n_things, things_room;
	struct tw_ordering_birth *births;
	size_t n_births, births_room;
	struct tw_ordering_early *early;
	size_t n_early, early_room;
	struct tw_ordering_team *teams;
	size_t n_teams, teams_room;
	struct tw_ordering_task *tasks;
	size_t n_tasks, tasks_room;
};

int tw_ordering_init(struct tw_ordering *o, const struct tw_context *c); /* 0 or TW_ERR_MEMORY; tw_ordering_free in any case */
void tw_ordering_free(struct tw_ordering *o);

/* All return 0 or TW_ERR_MEMORY. */

/* The thread whose clock, or whose task's, has this number. */
size_t tw_ordering_runner(const struct tw_ordering *o, size_t who);

/* The task with a clock of its own that the thread runs; NULL: none. Does it use its thread's part of a reduction? */
const struct tw_ordering_frame *tw_ordering_deferred(const struct tw_ordering_thread *t);
int tw_ordering_reduces(const struct tw_ordering *o, const struct tw_ordering_frame *f);

/* Is it the first of a process that another one made, which has not been told so yet? `e` is what its thread begins with. */
int tw_ordering_awaits_fork(const struct tw_ordering *o, const struct tw_ordering_thread *t, const struct tw_thread_start *e);

/* An event of the thread, other than of calls: threads that begin, end, are made. */
int tw_ordering_event(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_event *e);

/* A call of the thread, with no call around it that is closed. */
int tw_ordering_call(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_calling_step *step);

/* ... and what that was to a lock. */
int tw_ordering_lock(struct tw_ordering *o, struct tw_ordering_thread *t, const struct tw_held_step *held);

/* The thread reads or writes an atomic variable at addr. */
int tw_ordering_atomic(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, int reads, int writes);

/* The thread writes it without giving anything by that. */
int tw_ordering_atomic_counts(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr);

/* The thread is about to read it early. Until that is settled, who writes there tells those, too, that know what the thread did since: unless the writer is one of them. */
int tw_ordering_read_early(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr);
void tw_ordering_settle(struct tw_ordering *o, const struct tw_ordering_thread *t);

/* Would the thread learn something if it read the atomic variable? */
int tw_ordering_atomic_tells(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr);

/* How often the atomic variable has been written. */
uint64_t tw_ordering_atomic_writes(struct tw_ordering *o, uint32_t program, uint64_t addr);

/* The thread, within pthread_once of this control, begins what is run once: perhaps again, since it was left by an exception. */
int tw_ordering_begins_once(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t control);

/* It wakes those that wait at this address: where that is the control of what it runs once, that has returned or was left. */
int tw_ordering_wakes(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr);

/*
 * The library's code has come to the program's at pc, with so many calls open: perhaps a region or task begins. *waits: it is one that nobody has begun yet, so the thread that does has to be
 * replayed first.
 */
int tw_ordering_comes(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t pc, size_t depth, int *waits);

/* The library's code runs, with so many calls open: perhaps one has ended. */
int tw_ordering_goes(struct tw_ordering *o, struct tw_ordering_thread *t, size_t depth);

#endif

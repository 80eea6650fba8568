/*
 * What orders threads (ordering.h), the lowest part: threads with their clocks, the things that they pass to each
 * other, and atomic variables, which may be read early.
 *
 * Functions return 0 or TW_ERR_MEMORY unless stated otherwise.
 */
#ifndef TW_ORDERING_THINGS_H
#define TW_ORDERING_THINGS_H

#include "analyzers/clocks.h"
#include "analyzers/descriptors.h"
#include "analyzers/heard.h"
#include "analyzers/shared_memory.h"

/* What a thing is: one address may be several. */
enum tw_ordering_role {
	TW_ROLE_LOCK,
	TW_ROLE_READERS,
	TW_ROLE_CONDITION,
	TW_ROLE_BARRIER,
	TW_ROLE_SEMAPHORE,
	TW_ROLE_ONCE,
	TW_ROLE_ATOMIC,
	TW_ROLE_CHANNEL,
	TW_ROLE_SIGNAL,
	TW_ROLE_TIMER,
	TW_ROLE_KERNEL
};

enum { TW_ORDERING_PHASES = 4 };

/* Something that threads pass to each other: a lock, a condition, an atomic variable... */
struct tw_ordering_thing {
	uint64_t addr;
	uint32_t program;
	uint8_t role, used;
	uint64_t count, arrived; /* barrier; for a semaphore `count` is the rest of its initial value */
	uint64_t phase_of[2];    /* barrier: which time `phases` are of, and 1 */
	uint64_t releases;       /* of an atomic variable: so often it was written */
	size_t writer;           /* of an atomic variable: 1 + index of the thread that wrote it last; 0: none */
	struct tw_clocks clocks, phases[2];
};

/* The threads of a parallel region; number 0 stands for all that run outside any region. */
struct tw_ordering_team {
	uint64_t function;
	uint32_t program;
	int open;
	size_t master;
	uint32_t *parts; /* threads that have begun their parts */
	size_t n_parts, parts_room;
	struct tw_clocks fork, ended, tasks, depending, ordered, copied, posted;
	struct {
		struct tw_clocks clocks;
		uint32_t of; /* phase + 1 */
	} phases[TW_ORDERING_PHASES];
};

enum { TW_ORDERING_BY_SEVERAL = UINT32_MAX };

/* Tasks of one place in the program. */
struct tw_ordering_task {
	uint64_t function;
	uint32_t program, maker; /* maker: number and 1 of the task that makes them; 0: regions do; TW_ORDERING_BY_SEVERAL */
	int depends, final, reduces;
	struct tw_clocks made, ended;
};

enum tw_ordering_depend { TW_ORDERING_OUT, TW_ORDERING_MUTEX, TW_ORDERING_IN, TW_ORDERING_DEPENDS };

/* What tasks depend on: an address, and the knowledge of ended tasks that write, exclude others, or read. */
struct tw_ordering_place {
	uint64_t addr;
	struct tw_clocks by[TW_ORDERING_DEPENDS];
};

/* Makes tasks (ordering_tasks.h). */
struct tw_ordering_maker {
	uint32_t uses; /* 0: the place is free */
	struct tw_clocks children;
	struct tw_clocks depending, unknown; /* of these, those with dependences, and those with unknown ones */
	struct tw_ordering_place *places;
	size_t n_places, places_room;
};

/* A task that was made and has not ended. */
struct tw_ordering_made {
	uint64_t function, block, bytes; /* block: where the library keeps it; 0: it does not, or not known yet */
	uint32_t program, team, maker;   /* maker: 0: the place is free */
	int runs;
	struct tw_clocks made;
	uint64_t *list; /* what it depends on, as libgomp has it */
	size_t n_list;
};

/* What a thread is making in a call of the library. */
struct tw_ordering_making {
	int includes;    /* it makes a task that it runs at once */
	uint32_t number; /* of the task; 0: none */
	uint64_t function;
};

/* A parallel region or task that a thread is in. */
struct tw_ordering_frame {
	uint32_t maker;                   /* its number */
	uint32_t made;                    /* which task it is; 0: it is the region itself, or that is not known */
	struct tw_ordering_making making; /* what the thread was making when it began */
	uint32_t team;                    /* number */
	uint32_t task;                    /* number and 1; 0: it is the region itself */
	uint32_t phase;                   /* barriers of the region that it has passed */
	size_t depth;                     /* calls open in the thread when it began; SIZE_MAX: the thread made it */
	/* of a task that has a clock of its own: what the thread was before */
	int deferred;
	uint32_t own; /* which of the thread's clocks for tasks */
	size_t who;
	uint32_t clock;
	struct tw_clocks clocks;
};

enum { TW_ORDERING_ONCE = 4 };
enum { TW_ORDERING_TASK_CLOCKS = 8 }; /* of a thread, for the tasks that it runs */
enum { TW_ORDERING_READ = 32 };       /* number of addresses kept of those that libgomp accessed last */

struct tw_ordering_thread {
	size_t index;
	size_t who;                     /* owner of the clock `clock`: its index, or that of the task that it runs */
	uint32_t process, tid, program; /* program: tw_process_program */
	struct tw_clocks clocks;
	uint32_t clock;                  /* its own */
	struct tw_heard *heard;          /* of all threads; NULL: it is not kept */
	struct tw_clocks at_create;      /* as it is about to make a thread... */
	int creates;                     /* ... which it does */
	int has_begun;                   /* its beginning was told */
	uint32_t signal;                 /* a signal that has arrived, and whose time comes with the next keyframe; 0: none */
	int uses_kernel;                 /* file locks and the like */
	uint64_t fs;                     /* address of its thread-local storage: its pthread_t; 0: not known */
	uint64_t once[TW_ORDERING_ONCE]; /* controls of what it may be running once now, nested; 0: none */
	uint64_t arrived;                /* barrier: which time of it */
	int ended;
	struct tw_ordering_frame *frames;
	size_t n_frames, frames_room;
	uint32_t ended_team; /* the last region whose part it has ended; 0: none */
	struct tw_ordering_making making;
	uint64_t read[TW_ORDERING_READ];
	size_t n_read;
	uint32_t n_deferred; /* tasks that it has run with a clock of their own */
	uint32_t task_clock[TW_ORDERING_TASK_CLOCKS];
};

/* A thread that is being made: what it will know. */
struct tw_ordering_birth {
	uint32_t process, tid;
	struct tw_clocks clocks;
};

/* A thread has read an atomic variable before everything that may have been written there was looked at: what it read may be newer. */
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
	struct tw_ordering_maker *makers;
	size_t n_makers, makers_room;
	struct tw_ordering_made *made;
	size_t n_made, made_room;
};

/* ---- giving and getting ---- */

/* The clock of the thread, or of the task that it runs, goes on. */
int tw_ordering_advance(struct tw_ordering_thread *t);

int tw_ordering_release(struct tw_ordering_thread *t, struct tw_clocks *to);
int tw_ordering_acquire(struct tw_ordering_thread *t, const struct tw_clocks *from);

/* The thing with this role at an address, made if needed. NULL: no memory. Valid until another is asked for. */
struct tw_ordering_thing *tw_ordering_thing(struct tw_ordering *o, uint32_t program, uint64_t addr, enum tw_ordering_role role);

int tw_ordering_release_to(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, enum tw_ordering_role role);
int tw_ordering_acquire_from(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, enum tw_ordering_role role);

/* All clocks of a team. */
enum { TW_ORDERING_TEAM_CLOCKS = 7 + TW_ORDERING_PHASES };

void tw_ordering_team_clocks(struct tw_ordering_team *m, struct tw_clocks *all[TW_ORDERING_TEAM_CLOCKS]);
void tw_ordering_team_free(struct tw_ordering_team *m);

/* ---- atomic variables ---- */

/* The thread reads or writes an atomic variable at addr. */
int tw_ordering_atomic(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr, int reads, int writes);

/* The thread writes it without giving anything by that. */
int tw_ordering_atomic_counts(struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr);

/*
 * The thread is about to read it early. Until that is settled, a write there also informs threads that know what the
 * thread did since, unless the writer is one of them.
 */
int tw_ordering_read_early(struct tw_ordering *o, struct tw_ordering_thread *t, uint64_t addr);
void tw_ordering_settle(struct tw_ordering *o, const struct tw_ordering_thread *t);

/* Would the thread learn anything by reading the atomic variable? */
int tw_ordering_atomic_tells(const struct tw_ordering *o, const struct tw_ordering_thread *t, uint64_t addr);

/* How often the atomic variable has been written, and who wrote it last: 1 + index, or 0. */
uint64_t tw_ordering_atomic_writes(const struct tw_ordering *o, uint32_t program, uint64_t addr);
size_t tw_ordering_atomic_writer(const struct tw_ordering *o, uint32_t program, uint64_t addr);

/* What all that have written it have given. */
const struct tw_clocks *tw_ordering_atomic_clocks(const struct tw_ordering *o, uint32_t program, uint64_t addr);

#endif

/*
 * The state shared by the sources of `races`: race_access.c checks accesses, race_events.c follows calls and other
 * events, race_blocks.c determines whose code runs, race_live.c takes batches as they come, race_loads.c knows about
 * atomic loads, race_possible.c finds races that atomic instructions may have ordered, race_turns.c decides which
 * thread is processed next, races.c is the analyzer.
 */
#ifndef TW_RACE_STATE_H
#define TW_RACE_STATE_H

#include "analyzers/atomics.h"
#include "analyzers/ordering.h"
#include "analyzers/postponed.h"
#include "analyzers/race_lines.h"
#include "analyzers/race_pieces.h"
#include "analyzers/race_report.h"
#include "analyzers/rows.h"
#include "analyzers/runtime_code.h"

/* Why a thread is not looked at further for now. */
enum tw_race_stuck {
	TW_RACE_GOES_ON,
	TW_RACE_AT_REGION, /* of OpenMP: nobody has begun it yet */
	TW_RACE_AT_FORK,   /* who made the process has not been told so yet */
	TW_RACE_AT_LOAD,   /* of an atomic variable: the write that it read may not have been processed yet */
	TW_RACE_AT_GOAL,   /* it has written what another waits for */
};

/* A load of an atomic variable before which a thread stands. */
struct tw_race_load {
	uint64_t pc, addr;
	uint64_t way; /* the program's block that comes behind it; 0: not known */
	int locked;   /* by an instruction that reads and writes at once */
};

enum { TW_RACE_MAKERS = 16, TW_RACE_PAGES = 2048, TW_RACE_LOCAL_STORAGE = 64 << 10, TW_RACE_STACK = 8 << 20 };

struct tw_race_page {
	uint64_t number;
	struct tw_epoch_page *page;
};

/* An open function that has created tasks, which may use its variables: they are from `low` to its return address. */
struct tw_race_maker {
	uint64_t low, slot;
};

struct tw_race_thread {
	uint32_t serial, image;
	int known;
	enum tw_code_owner owner; /* of the last block */
	uint8_t end;              /* enum tw_end of it */
	uint8_t fills;            /* it fills the buffer of a stream: its writes are not checked */
	struct tw_ordering_thread *order;
	struct tw_calling calling;
	struct tw_callpath path;
	struct tw_held held;
	uint16_t locks;  /* number of the set that it holds */
	uint64_t lowest; /* place of a return address on its stack */
	struct tw_race_maker makers[TW_RACE_MAKERS];
	size_t n_makers;
	struct tw_race_page pages[TW_RACE_PAGES]; /* that it came to last */
	struct tw_race_lines *lines;              /* likewise */
	/* whose turn it is */
	struct tw_postponed postponed;
	enum tw_race_stuck stuck;
	struct tw_race_load load;     /* AT_LOAD: this one */
	int may_load;                 /* it may be looked at */
	int resolving;                /* others are looked at for its sake */
	uint64_t overlaps;            /* its last locked instruction accessed this at about the time of another's; 0: no */
	uint64_t goal;                /* process it until it has written here; 0: as far as possible */
	const struct tw_part *coming; /* what follows everything that is postponed, while that is processed; NULL: nothing yet */
	struct {
		uint64_t pc, addr, way;
		uint64_t version; /* of the variable when it was loaded first */
		int told;         /* the variable told the thread something then */
		int is_loud;      /* the thread has accessed what may be another's since */
	} waiting;                /* its last load, perhaps repeated, each time followed by the same path; pc 0: none */
};

struct tw_race_state {
	const struct tw_context *context;
	const struct tw_recording *recording;
	int hybrid;
	struct tw_calling_kinds kinds;
	struct tw_runtime_code runtime;
	struct tw_atomics atomics;
	struct tw_callpaths paths;
	struct tw_locksets locksets;
	struct tw_ordering ordering;
	struct tw_epoch shadow;
	struct tw_races races;
	int unstamped; /* the recording has no time stamps of locked instructions */
	/* Then: the clock, plus 1, at which each first acquired from an atomic variable; by address, program, and owner of the clock. */
	struct tw_rows reads;
	struct tw_heard heard; /* then, too */
	struct tw_race_thread *threads;
	struct tw_race_lines *lines; /* of each thread */
	size_t n_threads;
	struct tw_race_pieces pieces;
	uint32_t *threaded; /* programs that have made threads */
	size_t n_threaded;
	int has_regions;  /* a thread was stuck at one, or at a fork */
	uint64_t due;     /* no postponed part is closed by time before this; 0: none will be */
	uint64_t changes; /* number of changes of shared memory that are known here */
	uint64_t checked;
};

static inline int tw_race_is_threaded(const struct tw_race_state *s, uint32_t program)
{
	for (size_t i = 0; i < s->n_threaded; i++)
		if (s->threaded[i] == program)
			return 1;
	return 0;
}

/* Does it matter whether the thread accesses what another may share? */
static inline int tw_race_waits(const struct tw_race_thread *t)
{
	return t->waiting.pc && !t->waiting.is_loud;
}

/* Is what the thread accesses now to be looked at? */
static inline int tw_race_looks(const struct tw_race_state *s, const struct tw_race_thread *t)
{
	return t->owner == TW_CODE_PROGRAM && !t->calling.in_closed && tw_race_is_threaded(s, t->order->program);
}

/* All return 0, TW_ERR_MEMORY, or what ended the run. */

/* ---- race_access.c ---- */

/* References of a block of the program's code, from the part's `ref` on. t->stuck tells whether it got to their end. */
int tw_race_take_refs(struct tw_race_state *s, struct tw_race_thread *t, struct tw_part *p, const struct tw_block_run *run, size_t n);

/* The same for references that are not expanded, of one or several blocks of the descriptor of `run`. *done: of how many. */
int tw_race_take_addresses(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run,
                           const struct tw_ref_shape *shapes, const uint64_t *addr, size_t n, size_t *done);

/* Addresses may now belong to other shared memory, or no longer to shared memory. */
void tw_race_forget_places(struct tw_race_state *s);

/* The memory in [start, end) of a program has other contents from now on. */
void tw_race_forget(struct tw_race_state *s, uint32_t program, uint64_t start, uint64_t end);

/* The function that returns to `back` releases a block of memory: that counts as a write. */
int tw_race_release_block(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, uint64_t back);

/* A function that has created tasks has returned: its variables are gone, which counts as a write. */
int tw_race_leave_maker(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_race_maker *m, uint64_t pc);

/* The kernel reads or fills a buffer, for a function that returns to `back`. */
int tw_race_take_buffer(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, uint64_t bytes, int is_filled, uint64_t back);

/* Threads wait at these bytes, so all accesses there are atomic. */
void tw_race_mark_waited(struct tw_race_state *s, struct tw_race_thread *t, uint64_t addr, unsigned bytes);

/* Is the address on the thread's stack, or in its thread-local storage? */
int tw_race_is_private(const struct tw_race_thread *t, uint64_t addr);

/* Does the reference of the program's code order threads? */
int tw_race_orders(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run, const struct tw_ref *r);

/* ---- race_events.c ---- */

int tw_race_take_event(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_event *e);

/* ---- race_blocks.c ---- */

/* A block starts. *looks: its accesses must be checked. t->stuck tells whether it may start. */
int tw_race_enter_block(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run, int *looks);

/* The block, the last that started, is finished: updates the call stack. `last`: the address of its last reference. */
int tw_race_leave_block(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_block_run *run, uint64_t last);

/* The thread creates a task by a call that it has just made. */
void tw_race_note_maker(struct tw_race_thread *t, const struct tw_open_call *c);

/* ---- race_live.c ---- */

/* A batch of a thread without postponed parts. If t->stuck tells that it did not get to the end, *left is the rest. */
int tw_race_take_live(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_batch *b, struct tw_part *left);

/* ---- race_loads.c ---- */

/* What is known of the load before which a thread with postponed parts stands (AT_LOAD). */
enum tw_race_ahead {
	TW_RACE_LAST,      /* it is not repeated, or that cannot be told */
	TW_RACE_REPEATED,  /* the thread makes it again at once */
	TW_RACE_NOT_KNOWN, /* ..., since what comes behind it is not there yet */
};
enum tw_race_ahead tw_race_look_ahead(struct tw_race_state *s, struct tw_race_thread *t);

/*
 * If that has been asked. Is it known that somebody wrote since the thread made it before; can that write have been
 * processed already; or need there be none?
 */
int tw_race_load_ends_wait(const struct tw_race_thread *t);
int tw_race_load_has_news(struct tw_race_state *s, const struct tw_race_thread *t);
int tw_race_load_is_explained(struct tw_race_state *s, const struct tw_race_thread *t);

/* ---- race_possible.c ---- */

/* The thread reads an atomic variable, and acquires. */
int tw_race_note_read(struct tw_race_state *s, const struct tw_race_thread *t, uint64_t addr);

/* So many clocks there may be. */
size_t tw_race_clocks(const struct tw_race_state *s);

/*
 * Determines for each race whether it is only possible: without time stamps atomic instructions may have been ordered
 * differently from the order in which they were processed.
 */
int tw_race_find_possible(struct tw_race_state *s);

/* ---- race_turns.c ---- */

/* What a thread did next. */
int tw_race_take_batch(struct tw_race_state *s, struct tw_race_thread *t, const struct tw_batch *b);

/* All that is left. */
int tw_race_take_rest(struct tw_race_state *s);

#endif

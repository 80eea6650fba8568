/*
 * The state of cct, shared by its parts: cct.c (the analyzer), cct_walk.c (batches), cct_events.c; and by timeline.c,
 * which observes the same stack. Not to be included elsewhere.
 */
#ifndef TW_CCT_STATE_H
#define TW_CCT_STATE_H

#include "analyze/by_fragment.h"
#include "analyzers/cct_stack.h"
#include "analyzers/cct_steps.h"
#include "analyzers/forks.h"
#include "analyzers/segments.h"

#include <trackway/context.h>
#include <trackway/names.h>

/*
 * Sees the stack of calls change, block by block. `insn` is the number of the next instruction in the thread. 0 or an
 * error.
 */
struct tw_cct_observer {
	/* Control has come to a block of so many instructions; end and last are still those of the block before. */
	int (*moved)(void *context, uint32_t block, uint64_t insn, uint16_t n_insns);
	int (*event)(void *context, const struct tw_event *e, uint64_t insn);
	void *context;
};

struct tw_cct_state {
	const struct tw_context *context;
	const struct tw_cct_observer *observer; /* NULL: what ran is counted in the tree */
	struct tw_names *names;                 /* NULL: the context's */
	struct tw_context_tree *out;            /* destination of the tree in place of an answer; NULL: make an answer */
	struct tw_contexts tree;
	struct tw_cct_stack stack;
	struct tw_forks *forks;
	size_t most_roots; /* of the tree: beyond this it is checked whether their forks were met */
	size_t most_nodes; /* beyond this it is checked which are the same by names */
	struct tw_segments segments;
	struct tw_cct_steps steps;
	struct tw_by_fragment fragments; /* cct_walk.c's */
	uint32_t thread, program;        /* of the batch; TW_CONTEXT_NONE: none so far */
	uint32_t pid;
	uint64_t next_insn; /* of the thread: the number of the one that the next batch begins with, if no code was left out */
	uint64_t insn;      /* with an observer: of the next block's first one */
	int was_out;        /* code was left out before what follows */
	uint32_t step;      /* the last thing that happened; TW_CCT_STEP_NONE: something else */
	/* How the next block is reached. */
	uint32_t segment;  /* that ended; TW_SEGMENT_NONE: a block that was taken by itself, */
	uint32_t last;     /* the number of that; TW_CONTEXT_NONE with TW_SEGMENT_NONE: what follows is a beginning */
	uint8_t end;       /* enum tw_end of it; TW_END_FALL also where it did not come to its end */
	uint64_t last_ref; /* address of its last reference; 0: none */
	uint64_t back;     /* address behind it */
	uint64_t target;   /* where a block that was taken by itself jumps or calls */
	int in_parts;      /* not all code of the process is recorded (cct_parts.h) */
	uint8_t *begins;   /* by block: whether a function begins there */
	size_t begins_room;
	int in_handler; /* a signal's handler has begun, and its frame awaits its place on the stack */
};

/* ---- cct_state.c ---- */

/* NULL: no memory. */
struct tw_cct_state *tw_cct_new(const struct tw_context *c);
void tw_cct_free(struct tw_cct_state *s);

/* Nothing is known of the open calls from here on. */
void tw_cct_forget(struct tw_cct_state *s);

/*
 * Moves counts to the tree, and looks up what forked processes have inherited, if that can be found by now. No stack
 * is followed. 0 or an error.
 */
int tw_cct_settle(struct tw_cct_state *s);
int tw_cct_has_many_roots(const struct tw_cct_state *s);

/* The tree has many nodes: call sites within one function are no longer distinguished. 0 or an error. */
int tw_cct_shrink(struct tw_cct_state *s);

/* Up to this many nodes are no burden. While the program runs, names must be opened once more before reducing. */
size_t tw_cct_least_many_nodes(const struct tw_cct_state *s);

/* Those of the answer; NULL: no memory. */
struct tw_names *tw_cct_names(const struct tw_cct_state *s);

/* ---- cct_walk.c, cct_events.c: 0 or an error ---- */

int tw_cct_batch(void *state, const struct tw_batch *b);
int tw_cct_take_event(struct tw_cct_state *s, const struct tw_event *e);

/* The number of the block that ended; TW_CONTEXT_NONE: what follows is a start. */
static inline uint32_t tw_cct_last_block(const struct tw_cct_state *s)
{
	return s->segment == TW_SEGMENT_NONE ? s->last : tw_segment_last(&s->segments, &s->segments.items[s->segment]);
}

static inline int tw_cct_is_beginning(const struct tw_cct_state *s)
{
	return s->segment == TW_SEGMENT_NONE && s->last == TW_CONTEXT_NONE;
}

static inline int tw_cct_ends_with_call(const struct tw_cct_state *s)
{
	return s->end == TW_END_CALL || s->end == TW_END_ICALL;
}

/* Must the stack address be known for a return, a call, or neither at a block's end? */
static inline int tw_cct_uses_stack(uint8_t end)
{
	return end == TW_END_RETURN || end == TW_END_CALL || end == TW_END_ICALL;
}

#endif

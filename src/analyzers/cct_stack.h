/*
 * The shadow stack of one thread, for calling contexts (contexts.h): which node runs, and which it returns to.
 *
 * Two things make it more than a stack. A process that was forked goes on in calls of its parent's: its lowest frame has a root then, which changes as it returns from them. And in a window that leaves
 * code out (--module, --function) calls come from code that is not seen, and lead there: such a call has a frame of its caller's node, and what is called from
 * there stands below the call that led out. Where its return address stands is not known; it returns to where nothing is seen.
 */
#ifndef TW_CCT_STACK_H
#define TW_CCT_STACK_H

#include "analyzers/contexts.h"

/* Stacks that were put aside, of one thread: of more the oldest is forgotten. */
enum { TW_CCT_STACKS_ASIDE = 64 };

/* Frames that were left without a return. */
struct tw_cct_aside {
	struct tw_context_frame *frames;
	size_t n;
};

struct tw_cct_stack {
	struct tw_contexts *tree;
	int has_refs;
	struct tw_context_frame *frames; /* the one that runs is the last */
	size_t n, room;
	struct tw_cct_aside aside[TW_CCT_STACKS_ASIDE];
	size_t next_aside;
	uint32_t root;    /* of the lowest frame; TW_CONTEXT_NONE: it was not inherited */
	uint64_t first;   /* the stack pointer when the process began; UINT64_MAX: not known */
	int is_resumed;   /* what begins next has been called, if it has, before that was recorded */
	uint64_t *starts; /* by blocks at which control came back to what is seen: where their functions begin; 0: not looked up yet */
	size_t starts_room;
};

/* Functions that return int return 0 or TW_ERR_MEMORY. */

/* Nothing is known of the calls that are open. Also what makes a new one ready, whose tree and has_refs are set. */
void tw_cct_stack_forget(struct tw_cct_stack *s);
void tw_cct_stack_free(struct tw_cct_stack *s);

/* Nodes have other numbers now: node[i] is that of node i. */
void tw_cct_stack_renumber(struct tw_cct_stack *s, const uint32_t *node);

/* A process begins, that was forked perhaps: there are no frames. */
int tw_cct_stack_inherit(struct tw_cct_stack *s, const struct tw_context_root *root);

int tw_cct_stack_push(struct tw_cct_stack *s, uint32_t node, uint64_t slot, uint64_t back);

/* There is no frame: the first block of a thread, or the first after something that was not recorded, is in the frame of its function. */
int tw_cct_stack_push_lowest(struct tw_cct_stack *s, uint32_t block);

/* A return took its address from `slot`; without references: it led to `pc`. */
int tw_cct_stack_return(struct tw_cct_stack *s, uint64_t slot);
int tw_cct_stack_return_to(struct tw_cct_stack *s, uint64_t pc);

/* Whether a frame, of a stack that was put aside perhaps, has its return address there. */
int tw_cct_stack_knows(struct tw_cct_stack *s, uint64_t slot);

/* What is at or below a place on the stack that a call of `block` writes to is not there any more. */
int tw_cct_stack_call(struct tw_cct_stack *s, uint64_t slot, uint32_t block);

/* Control has left what is seen, from `block`: by a call that wrote its address, `back`, to `slot` (0: not known); by a return that took its address from `slot`; by a jump. */
int tw_cct_stack_call_out(struct tw_cct_stack *s, uint32_t block, uint64_t slot, uint64_t back);
int tw_cct_stack_return_out(struct tw_cct_stack *s, uint64_t slot);
void tw_cct_stack_jump_out(struct tw_cct_stack *s, uint32_t block);

/*
 * It comes back, to `block` at pc: by a return to a call that is open or was put aside; in the middle of a function that is open, by longjmp, an exception or the end of a
 * signal handler; else, if is_called, by a call, which makes a frame, and if not by a jump.
 */
int tw_cct_stack_come_in(struct tw_cct_stack *s, struct tw_names *names, uint32_t block, uint64_t pc, int is_called);

static inline uint32_t tw_cct_stack_node(const struct tw_cct_stack *s)
{
	return s->frames[s->n - 1].node;
}

/* Whether a call whose return address goes to `slot` leaves all frames where they are; whether a return is that of the frame on top, below which there is another. */
static inline int tw_cct_stack_calls_above(const struct tw_cct_stack *s, uint64_t slot)
{
	return (s->n > 1 || s->root == TW_CONTEXT_NONE) && s->frames[s->n - 1].slot - 1 >= slot;
}

static inline int tw_cct_stack_returns_top(const struct tw_cct_stack *s, uint64_t slot, uint64_t pc)
{
	const struct tw_context_frame *top = &s->frames[s->n - 1];
	return s->n > 1 && (s->has_refs ? top->slot == slot : top->back == pc);
}

#endif

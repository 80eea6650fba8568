/*
 * The shadow stack of one thread, for calling contexts (contexts.h): the current node, and the nodes to which it
 * returns.
 *
 * Two cases make it more than a stack. A forked process continues in calls of its parent: its lowest frame then has a
 * root, which changes as it returns from them. And in a window that leaves code out (--module, --function) calls come
 * from unseen code, and lead into it: such a call has a frame of its caller's node, and what is called from there is
 * placed below the call that led out. The address of its return address is not known; it returns to unseen code.
 */
#ifndef TW_CCT_STACK_H
#define TW_CCT_STACK_H

#include "analyzers/contexts.h"

/* Stacks put aside, per thread: beyond this the oldest is forgotten. */
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
	int is_resumed;   /* what starts next has been called, if at all, before recording started */
	uint64_t *starts; /* by block at which control came back to seen code: start of its function; 0: not looked up yet */
	size_t starts_room;
};

/* Functions that return int return 0 or TW_ERR_MEMORY. */

/* Nothing is known of the open calls. Also initializes a new stack, whose tree and has_refs are set. */
void tw_cct_stack_forget(struct tw_cct_stack *s);
void tw_cct_stack_free(struct tw_cct_stack *s);

/* Nodes have been renumbered: node[i] is the new number of node i. */
void tw_cct_stack_renumber(struct tw_cct_stack *s, const uint32_t *node);

/* A process starts, perhaps a forked one: there are no frames. */
int tw_cct_stack_inherit(struct tw_cct_stack *s, const struct tw_context_root *root);

int tw_cct_stack_push(struct tw_cct_stack *s, uint32_t node, uint64_t slot, uint64_t back);

/* There is no frame: the first block of a thread, or the first after something unrecorded, is in the frame of its function. */
int tw_cct_stack_push_lowest(struct tw_cct_stack *s, uint32_t block);

/* A return took its address from `slot`; without references: it led to `pc`. */
int tw_cct_stack_return(struct tw_cct_stack *s, uint64_t slot);
int tw_cct_stack_return_to(struct tw_cct_stack *s, uint64_t pc);

/* Does a frame, perhaps of a stack that was put aside, have its return address there? */
int tw_cct_stack_knows(struct tw_cct_stack *s, uint64_t slot);

/* Frames at or below a stack address to which a call of `block` writes no longer exist. */
int tw_cct_stack_call(struct tw_cct_stack *s, uint64_t slot, uint32_t block);

/*
 * Control has left seen code, from `block`: by a call that wrote its address, `back`, to `slot` (0: not known); by a
 * return that took its address from `slot`; by a jump.
 */
int tw_cct_stack_call_out(struct tw_cct_stack *s, uint32_t block, uint64_t slot, uint64_t back);
int tw_cct_stack_return_out(struct tw_cct_stack *s, uint64_t slot);
void tw_cct_stack_jump_out(struct tw_cct_stack *s, uint32_t block);

/*
 * Control returns, to `block` at pc: by a return to a call that is open or was put aside; into the middle of an open
 * function, by longjmp, an exception or the end of a signal handler; otherwise, if is_called, by a call, which makes
 * a frame, or else by a jump.
 */
int tw_cct_stack_come_in(struct tw_cct_stack *s, struct tw_names *names, uint32_t block, uint64_t pc, int is_called);

static inline uint32_t tw_cct_stack_node(const struct tw_cct_stack *s)
{
	return s->frames[s->n - 1].node;
}

/*
 * Does a call whose return address goes to `slot` leave all frames in place? Does a return belong to the frame on
 * top, below which there is another?
 */
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

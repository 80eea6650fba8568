/*
 * Calling contexts: which call led to which, by addresses alone, so that they can be followed while a program runs and nobody knows names yet; and at the end, by
 * names, the tree of functions that follows from them.
 *
 * A *node* is one place in the tree of calls: the call that a block made (its site) in another node, and where it led. What ran within a node is kept block by
 * block (a *part*): a jump from one function into another, a tail call, makes no node, but the function of its blocks tells it at the end.
 *
 * Frames of the shadow stack are found again by the place where their return address stands. A return takes off the frame of its place; those above it were left by
 * longjmp, an exception, or a switch of stacks, and are put aside: a return from a place of theirs puts them back, as when a coroutine goes on. A call takes off
 * what stands at or below its own place on the stack. In recordings without references frames are found by their return addresses.
 */
#ifndef TW_CONTEXTS_H
#define TW_CONTEXTS_H

#include <trackway/context.h>

struct tw_context_cost {
	uint64_t insns, refs;
};

/* A basic block of a program in the memory of one process (tw_process_program_yet). */
struct tw_context_block {
	uint64_t pc;
	uint32_t program, thread; /* thread: one that ran it */
};

struct tw_context_node {
	uint32_t parent; /* itself: a thread's or a signal handler's beginning */
	uint32_t site;   /* block that made the call */
	uint32_t entry;  /* block that it led to */
	uint64_t calls;
};

struct tw_context_part {
	uint32_t node, block;
	uint64_t runs;
	struct tw_context_cost cost;
};

/* Items found by two or three numbers: an open hash of their indices + 1. */
struct tw_context_index {
	uint32_t *slots;
	uint32_t n_slots;
};

/* Parents come before children. */
struct tw_contexts {
	struct tw_context_block *blocks;
	struct tw_context_node *nodes;
	struct tw_context_part *parts;
	size_t n_blocks, blocks_room, n_nodes, nodes_room, n_parts, parts_room;
	struct tw_context_index by_block, by_node, by_part;
};

enum { TW_CONTEXT_NONE = UINT32_MAX };

/* The number of a block, a child (`parent` TW_CONTEXT_NONE: a beginning), a part; it is made if it is not there. TW_CONTEXT_NONE: no memory. */
uint32_t tw_contexts_block(struct tw_contexts *c, uint32_t program, uint32_t thread, uint64_t pc);
uint32_t tw_contexts_node(struct tw_contexts *c, uint32_t parent, uint32_t site, uint32_t entry);
uint32_t tw_contexts_part(struct tw_contexts *c, uint32_t node, uint32_t block);

/* The part will be asked for soon: what that takes comes from memory meanwhile. */
void tw_contexts_expect_part(const struct tw_contexts *c, uint32_t node, uint32_t block);

/* Adds another tree. 0 or TW_ERR_MEMORY. */
int tw_contexts_merge(struct tw_contexts *c, const struct tw_contexts *more);

/* As bytes, and back: what was packed is added (analyze/packed.h). */
int tw_contexts_pack(const struct tw_contexts *c, FILE *to);
int tw_contexts_unpack(struct tw_contexts *c, FILE *from);

void tw_contexts_free(struct tw_contexts *c);

/* ---- by names ---- */

struct tw_context_function {
	const char *name, *module; /* as the names have them; of the root NULL */
	uint32_t parent;           /* the root, number 0, is its own */
	uint64_t calls;
	struct tw_context_cost own, all; /* all: with what it called */
};

/* Parents come before children. */
struct tw_context_tree {
	struct tw_context_function *items;
	size_t n, room;
	struct tw_context_index index;
};

/* 0 or TW_ERR_MEMORY; tw_context_tree_free in any case. */
int tw_context_tree(const struct tw_contexts *c, struct tw_names *names, struct tw_context_tree *out);
void tw_context_tree_free(struct tw_context_tree *t);

#endif

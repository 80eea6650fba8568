/*
 * Calling contexts: which call led to which, by addresses alone, so that they can be followed while a program runs
 * and no names are known; and at the end, by names, the resulting tree of functions.
 *
 * A *node* is one place in the tree of calls: the call that a block (its site) made in another node, and its target.
 * What ran within a node is kept block by block (as *parts*): a jump from one function into another, a tail call,
 * makes no node; at the end the function is determined from its blocks.
 *
 * Frames of the shadow stack are identified by the stack address of their return address. A return pops the frame of
 * its address. Frames above it were left by longjmp, an exception, or a stack switch, and are put aside: a return
 * from one of their addresses restores them, as when a coroutine continues. A call pops what is at or below its own
 * stack address. In recordings without references frames are found by their return addresses.
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
	uint32_t parent; /* TW_CONTEXT_NONE: a start, of a thread, of a signal handler, or after something that was not recorded */
	uint32_t site;   /* block that made the call; for a start its root, TW_CONTEXT_NONE: it has none */
	uint32_t entry;  /* block that it led to */
	uint64_t calls;
};

/*
 * What a forked process runs within calls of its parent: a start, until it is known which calls those are (forks.h).
 * From the parent's calls at the time of the fork those from which the child has returned since are removed.
 */
struct tw_context_root {
	uint32_t pid;    /* of the process */
	uint32_t before; /* without references: what this root was before a return led to `back`; TW_CONTEXT_NONE: nothing has returned */
	uint64_t tsc;    /* when the process began */
	uint64_t back;
	uint64_t slot;              /* with references: calls whose return addresses are here or below have returned; 0: none */
	uint32_t parent_pid, depth; /* depth: how many are before it, at most TW_CONTEXT_DEEPEST */
};

enum { TW_CONTEXT_DEEPEST = 256 };

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

/* A call that is open. */
struct tw_context_frame {
	uint32_t node;
	uint32_t site; /* the block from which it was left for code that is not seen; TW_CONTEXT_NONE: it was not */
	uint64_t slot; /* where its return address stands; 0: not known */
	uint64_t back; /* its return address; 0: not known */
};

/* Parents come before children. */
struct tw_contexts {
	struct tw_context_block *blocks;
	struct tw_context_node *nodes;
	struct tw_context_part *parts;
	struct tw_context_root *roots;
	size_t n_blocks, blocks_room, n_nodes, nodes_room, n_parts, parts_room, n_roots, roots_room;
	struct tw_context_index by_block, by_node, by_part, by_root;
	uint32_t *joined; /* by block: its representative as a site (contexts_join.h) */
	size_t n_joined;  /* of blocks behind these: themselves */
	uint32_t *united; /* likewise, where it is part of a node */
	size_t n_united;
};

enum { TW_CONTEXT_NONE = UINT32_MAX };

/*
 * The number of a block, a child (`parent` TW_CONTEXT_NONE: a start, `site` its root), a part, a root; made if
 * needed. TW_CONTEXT_NONE: no memory.
 */
uint32_t tw_contexts_block(struct tw_contexts *c, uint32_t program, uint32_t thread, uint64_t pc);
uint32_t tw_contexts_node(struct tw_contexts *c, uint32_t parent, uint32_t site, uint32_t entry);
uint32_t tw_contexts_part(struct tw_contexts *c, uint32_t node, uint32_t block);
uint32_t tw_contexts_root(struct tw_contexts *c, const struct tw_context_root *root);

/* The block of a part that a block's executions belong to. */
static inline uint32_t tw_contexts_united(const struct tw_contexts *c, uint32_t block)
{
	return block < c->n_united ? c->united[block] : block;
}

/* Prefetches a part that will be needed soon. */
void tw_contexts_expect_part(const struct tw_contexts *c, uint32_t node, uint32_t block);

/* Numbers of one tree's items in another; block, root NULL: they are the same there. */
struct tw_context_maps {
	uint32_t *block, *node, *root;
};

/*
 * Adds the nodes and parts of another tree; m says where its blocks and roots are; m->node[i] becomes the number of
 * its node i. 0 or TW_ERR_MEMORY.
 */
int tw_contexts_add_nodes(struct tw_contexts *c, const struct tw_contexts *more, const struct tw_context_maps *m);

/* Adds another tree. 0 or TW_ERR_MEMORY. */
int tw_contexts_merge(struct tw_contexts *c, const struct tw_contexts *more);

/* The number in `c` of a node of another tree, or of a root, which is added with its ancestors if necessary. TW_CONTEXT_NONE: no memory. */
uint32_t tw_contexts_copy_node(struct tw_contexts *c, const struct tw_contexts *from, uint32_t node);
uint32_t tw_contexts_copy_root(struct tw_contexts *c, const struct tw_contexts *from, uint32_t root);

/*
 * Asks for each start with a root which node it is: `ask` sets *node to one of `to`, or leaves it. What ran in the
 * start then counts for that node. Numbers of blocks stay valid, others do not. 0 or an error.
 */
typedef int tw_contexts_ask(void *context, struct tw_contexts *to, const struct tw_contexts *c, const struct tw_context_node *beginning,
                            uint32_t *node);
int tw_contexts_resolve(struct tw_contexts *c, tw_contexts_ask *ask, void *context);

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

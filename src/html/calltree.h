/*
 * What the calling-context tree tells of functions and pairs of functions, and as much of it as can be drawn.
 */
#ifndef TW_CALLTREE_H
#define TW_CALLTREE_H

#include "analyzers/contexts.h"
#include "html/compact.h"

/* A function, of all contexts. What it executed while it was active already is part of its inclusive cost once. */
struct tw_calltree_function {
	const char *name, *module;
	uint64_t calls;
	struct tw_context_cost own, all;
};

/* Calls from one function to another. */
struct tw_calltree_edge {
	uint32_t from, to; /* functions; `from` UINT32_MAX: nobody */
	uint64_t calls, insns;
};

struct tw_calltree {
	struct tw_context_tree tree;
	uint32_t *function; /* of each item of the tree; of the root UINT32_MAX */
	struct tw_calltree_function *functions;
	struct tw_calltree_edge *edges; /* the most expensive first */
	size_t n_functions, n_edges, functions_room, edges_room;
	struct tw_context_index by_name, by_pair;
};

/* From t->tree. 0 or TW_ERR_MEMORY; tw_calltree_free in any case. */
int tw_calltree_summarize(struct tw_calltree *t);
void tw_calltree_free(struct tw_calltree *t);

/* The number of a function in `functions`; UINT32_MAX: it is in no context. */
uint32_t tw_calltree_find(const struct tw_calltree *t, const char *name, const char *module);

/*
 * The members "tree", {"parent", "name", "insns", "refs", "calls"}: arrays side by side, costs without those of what was called, item 0 the root; "tree_names",
 * [[NAME, MODULE]...]; and "edges", [[FROM, TO, CALLS, INSNS]...] by numbers of these names. Contexts beyond about `most`, or of whose names there would be more than
 * TW_CALLTREE_NAMES bytes, are given together, those of each parent in one item without a name (-1). Returns how many contexts those are. Edges are those that cost most:
 * TW_CALLTREE_EDGES at most, with at most half as many bytes of other names.
 */
enum { TW_CALLTREE_NAMES = 1000000, TW_CALLTREE_EDGES = 20000 };

size_t tw_calltree_json(const struct tw_calltree *t, struct tw_compact *c, size_t most);

#endif

/*
 * What the calling-context tree tells of functions and of pairs of functions, limited to what can be drawn.
 */
#ifndef TW_CALLTREE_H
#define TW_CALLTREE_H

#include "analyzers/contexts.h"
#include "html/compact.h"

/* A function, summed over all contexts. In recursion, its inclusive cost counts everything once. */
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
 * The members "tree", {"parent", "name", "insns", "refs", "calls"}: parallel arrays with self costs, item 0 is the
 * root; "tree_names", [[NAME, MODULE]...]; and "edges", [[FROM, TO, CALLS, INSNS]...] by numbers of these names.
 * Contexts beyond about `most`, or whose names would need more than TW_CALLTREE_NAMES bytes, are combined, for each
 * parent into one item without a name (-1). Returns the number of those contexts. Edges are those with the highest
 * costs: at most TW_CALLTREE_EDGES, and at most half as many bytes of further names.
 */
enum { TW_CALLTREE_NAMES = 1000000, TW_CALLTREE_EDGES = 20000 };

size_t tw_calltree_json(const struct tw_calltree *t, struct tw_compact *c, size_t most);

#endif

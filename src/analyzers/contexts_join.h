/*
 * A recursion in which each call makes two more doubles the number of nodes at each level, since the two calls are
 * two sites, but one context by names. So when a tree has grown large, nodes whose sites are in one function are
 * joined, including what is below them.
 */
#ifndef TW_CONTEXTS_JOIN_H
#define TW_CONTEXTS_JOIN_H

#include "analyzers/contexts.h"

/*
 * Joins what tw_context_tree would join by these names. node[i] becomes the new number of node i. are_last: the names
 * are those from which the tree is made at the end; otherwise only sites in functions of files count as equal. 0 or
 * TW_ERR_MEMORY; then the tree is unchanged.
 */
int tw_contexts_join(struct tw_contexts *c, struct tw_names *names, int are_last, uint32_t *node);

/*
 * From now on additions to a node form one part for each function, and one more for its first block; these are the
 * names from which the tree is made. 0 or TW_ERR_MEMORY.
 */
int tw_contexts_unite(struct tw_contexts *c, struct tw_names *names);

#endif

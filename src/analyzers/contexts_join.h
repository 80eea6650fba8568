/*
 * A recursion in which each call makes two more has twice as many nodes at each level, since the two calls are two sites, but one context by names. So where a tree
 * has grown large, nodes are joined whose sites lie in one function, and what is below them.
 */
#ifndef TW_CONTEXTS_JOIN_H
#define TW_CONTEXTS_JOIN_H

#include "analyzers/contexts.h"

/*
 * Joins what tw_context_tree would join by these names. node[i] becomes the new number of node i. are_last: the names are those that the tree is made of at the end; else only sites in
 * functions of files count as the same. 0 or TW_ERR_MEMORY; then the tree is as it was.
 */
int tw_contexts_join(struct tw_contexts *c, struct tw_names *names, int are_last, uint32_t *node);

/* From now on what is added to a node is one part for each function, and one more for its first block; these are the names that the tree is made of. 0 or TW_ERR_MEMORY. */
int tw_contexts_unite(struct tw_contexts *c, struct tw_names *names);

#endif

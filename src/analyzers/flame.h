/*
 * Trees of calling contexts in the forms of flame graphs: folded lines, speedscope's JSON, SVG.
 */
#ifndef TW_FLAME_H
#define TW_FLAME_H

#include "analyzers/contexts.h"

/* For each item the first child and the next sibling, the most expensive first; 0: none. To be freed by the caller in any case. 0 or TW_ERR_MEMORY. */
int tw_flame_children(const struct tw_context_tree *t, uint32_t **first, uint32_t **next);

/* 0 or TW_ERR_MEMORY. */
int tw_flame_folded(FILE *f, const struct tw_context_tree *t);
int tw_flame_speedscope(FILE *f, const struct tw_context_tree *t);
int tw_flame_svg(FILE *f, const struct tw_context_tree *t);

#endif

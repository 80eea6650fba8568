/*
 * The answer of cct: the tree by names as text, or in the form selected by its options.
 */
#ifndef TW_CCT_PRINT_H
#define TW_CCT_PRINT_H

#include "analyzers/contexts.h"

#include <trackway/context.h>

/* 0 or an error. */
int tw_cct_print(const struct tw_context *c, const struct tw_contexts *contexts);

#endif

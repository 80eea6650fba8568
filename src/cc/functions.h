/*
 * The second part of tw_cc_code_match() (code.h): which function each instruction is in, and which functions run early.
 */
#ifndef TW_CC_FUNCTIONS_H
#define TW_CC_FUNCTIONS_H

#include "cc/code.h"

/* Makes c->function, determines for each instruction which function contains it, and whether its callers are known. 0, or -1: no memory. */
int tw_cc_functions_find(struct tw_cc_code *c);

/*
 * Leaves alone IFUNC resolvers, which run while the program is being linked, and what they call in this file: they
 * run before there is thread-local memory. Requires known branch targets. 0, or -1: no memory.
 */
int tw_cc_functions_leave_early(struct tw_cc_code *c);

#endif

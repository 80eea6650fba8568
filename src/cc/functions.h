/*
 * The second part of tw_cc_code_match() (code.h): which function each instruction is in, and which functions run early.
 */
#ifndef TW_CC_FUNCTIONS_H
#define TW_CC_FUNCTIONS_H

#include "cc/code.h"

/* Makes c->function, and says of each instruction which it is in, and whether callers know it. 0, or -1: there is no memory. */
int tw_cc_functions_find(struct tw_cc_code *c);

/*
 * Leaves alone what chooses functions while the program is being linked (IFUNC), and what that calls in this file: it runs before there is thread-local memory. Where branches lead
 * is known. 0, or -1: there is no memory.
 */
int tw_cc_functions_leave_early(struct tw_cc_code *c);

#endif

/*
 * How the functions of one file call each other, and what of that needs no thread's slot.
 *
 * Between functions the buffer pointer is in TW_CC_BOUNDARY, r11, which no call has a use for, and in the slot besides, so that what is not instrumented may
 * stand between them. Who takes it up compares the two. A *known* function is one that a call of this file leads to and no linker or loader can
 * replace. A *private* one is entered by such calls only, so it does not compare, and they leave the slot alone. What calls a known function that *returns* does
 * not compare behind the call. (All calls lead to the function's own symbol: debuggers have their breakpoints there.)
 *
 * What must hold: the slot has the pointer wherever control goes to, or comes back to, something that may not have it in the register. So a function that is
 * not private, or may be left in another way than by its own return, stores it when it returns.
 */
#ifndef TW_CC_CALLS_H
#define TW_CC_CALLS_H

#include "cc/flow.h"

enum { TW_CC_BOUNDARY = TW_R11 };

/* Fills flow.function, and callee of all blocks. -1: there is no memory. */
int tw_cc_calls_find(struct tw_cc_flow *f);

/* May block b put the pointer in r11 in front of its last instruction, which leads out of the function? What is called then comes back with it, most likely. */
int tw_cc_hands(const struct tw_cc_flow *f, const struct tw_cc_block_info *b);

/* Does block b, which returns, leave the pointer in the slot too? */
int tw_cc_stores_at_return(const struct tw_cc_flow *f, const struct tw_cc_block_info *b);

#endif

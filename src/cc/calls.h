/*
 * How the functions of one file call each other, and which of these calls need no thread's slot.
 *
 * Between functions the buffer pointer is in TW_CC_BOUNDARY, r11, which no call uses, and also in the slot, so that
 * uninstrumented code may come in between. The code that takes it over compares the two. A *known* function is one
 * that a call of this file leads to and no linker or loader can replace. A *private* one is entered only by such
 * calls, so it does not compare, and they leave the slot alone. A caller of a known function that *returns* does not
 * compare after the call. (All calls lead to the function's own symbol: debuggers have their breakpoints there.)
 *
 * What must hold: the slot has the pointer wherever control goes to, or returns to, code that may not have it in the
 * register. So a function that is not private, or may be left in another way than by its own return, stores it when
 * it returns.
 */
#ifndef TW_CC_CALLS_H
#define TW_CC_CALLS_H

#include "cc/flow.h"

enum { TW_CC_BOUNDARY = TW_R11 };

/* Fills flow.function, and callee of all blocks. -1: there is no memory. */
int tw_cc_calls_find(struct tw_cc_flow *f);

/*
 * May block b move the pointer to r11 before its last instruction, which leaves the function? The callee then most
 * likely returns with it.
 */
int tw_cc_hands(const struct tw_cc_flow *f, const struct tw_cc_block_info *b);

/* Does block b, which returns, also leave the pointer in the slot? */
int tw_cc_stores_at_return(const struct tw_cc_flow *f, const struct tw_cc_block_info *b);

#endif

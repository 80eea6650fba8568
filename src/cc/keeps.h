/*
 * Functions that keep more registers than the ABI asks of them: clang's preserve_most and preserve_all, gcc's no_caller_saved_registers, rsi and rdi with ms_abi. Their callers have
 * values in such registers over the call, and assembly does not say which functions they are.
 *
 * What must hold: in a file that has a function with their mark, what a function's own instructions keep of these registers it keeps. The mark is that one of them, other than rax,
 * is pushed and popped: otherwise compilers do not do that. (rax is pushed to move the stack.) What no instruction of a file without a mark shows is not seen.
 */
#ifndef TW_CC_KEEPS_H
#define TW_CC_KEEPS_H

#include "cc/code.h"

/* Fills `keeps`, by function: such registers. Returns whether there are any. */
int tw_cc_keeps_find(const struct tw_cc_code *c, uint16_t *keeps);

#endif

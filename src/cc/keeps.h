/*
 * Functions that preserve more registers than the ABI requires: clang's preserve_most and preserve_all, gcc's
 * no_caller_saved_registers, rsi and rdi with ms_abi. Their callers keep values in such registers over the call, and
 * the assembly does not say which functions they are.
 *
 * What must hold: in a file that contains a function with the following mark, every function preserves those of these
 * registers that its own instructions preserve. The mark is that one of them, other than rax, is pushed and popped:
 * otherwise compilers do not do that. (rax is pushed to move the stack.) In a file without the mark this is not
 * detected.
 */
#ifndef TW_CC_KEEPS_H
#define TW_CC_KEEPS_H

#include "cc/code.h"

/* Fills `keeps`, by function: such registers. Returns whether there are any. */
int tw_cc_keeps_find(const struct tw_cc_code *c, uint16_t *keeps);

#endif

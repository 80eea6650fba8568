/*
 * Functions in two versions (Arnold and Ryder, A framework for reducing the cost of instrumented code, 2001), in the compiler's assembly: each function's statements
 * stand there twice, with labels, jump tables, unwind and exception tables of their own. The first is the function; the second, within the function's size, is what is to be
 * instrumented then. Where the function begins, and where its loops do, the first tests one byte, and goes over to the same place of the second:
 *
 *     f:     cmpb $0, trackway_cc_switch(%rip); jne .LtwSF1        .LtwSF1: ...
 *     .L3:   cmpb $0, trackway_cc_switch(%rip); jne .LtwSJ7        .LtwSH7 stands where .L3 does; .LtwSJ7: jmp .LtwSH7
 *     .LtwSP7:
 *
 * and the second goes back, from .LtwSH7 to .LtwSP7, when it is instrumented (rewrite.c). All registers and all memory of the program's are alike in both.
 *
 * Loops without calls and without loops in them, of few instructions, are not tested: nothing goes over within them. What is
 * kept of labels' addresses may lead from either version into the other: in the second, what data refer to takes nothing for granted.
 */
#ifndef TW_CC_TWICE_H
#define TW_CC_TWICE_H

#include "cc/versions.h"

/*
 * Writes f's code with second versions to `path`. Functions without one are left alone, with the reason (struct
 * tw_cc_function). 0 or -1.
 */
int tw_cc_twice(const struct tw_cc_flow *f, const char *path);

#endif

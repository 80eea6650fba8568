/*
 * Functions in two versions (Arnold and Ryder, A framework for reducing the cost of instrumented code, 2001), in the
 * compiler's assembly. Each function's statements occur twice, each time with labels, jump tables, unwind and
 * exception tables of their own. The first version is the function; the second, within the function's size, is the
 * one to be instrumented. At the start of the function and of its loops, the first version tests one byte, and
 * continues at the same place of the second if it is set:
 *
 *     f:     cmpb $0, trackway_cc_switch(%rip); jne .LtwSF1        .LtwSF1: ...
 *     .L3:   cmpb $0, trackway_cc_switch(%rip); jne .LtwSJ7        .LtwSH7 corresponds to .L3; .LtwSJ7: jmp .LtwSH7
 *     .LtwSP7:
 *
 * The second version goes back, from .LtwSH7 to .LtwSP7, if it is instrumented (rewrite.c). All registers and all
 * memory of the program are the same in both.
 *
 * Short loops without calls and inner loops are not tested: within them nothing changes over. Stored addresses of
 * labels may lead from either version into the other. So in the second version, code to which data refer makes no
 * assumptions.
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

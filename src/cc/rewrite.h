/*
 * Writes the instrumented assembly: the compiler's own statements unchanged, with code and labels between them.
 *
 * What a block gets (B: its buffer register; n: bytes of its record):
 *     at its start    code that brings the pointer into B, if necessary; a test whether the buffer is full (if it is, the
 *                     run-time part is called, out of line)
 *                     movw $tag, (B)
 *     within          mov register, 2 + 8 * k(B), for each value
 *     at its end      lea n(B), B; code that brings the pointer where it is expected (assign.h)
 * Only the test changes flags; it stands where they are not live.
 */
#ifndef TW_CC_REWRITE_H
#define TW_CC_REWRITE_H

#include "cc/assign.h"
#include "cc/plan.h"

/* What became of the file. */
struct tw_cc_counts {
	uint32_t functions, left; /* instrumented; left alone */
	uint32_t blocks, borrowed;
	uint32_t insns, inserted, stores;
};

/* Writes f's code instrumented to `path`. 0 or -1. */
int tw_cc_rewrite(const struct tw_cc_flow *f, const struct tw_cc_options *o, const char *path, struct tw_cc_counts *counts);

#endif

/*
 * Loops that record only how often they ran: one block that leads back to itself, all of whose addresses replay can
 * compute from what it knows when the loop starts. The block adds 1 to a register that it does not name, its
 * *counter*; whatever leads to the loop clears that first, and code after the loop's branch writes one record
 * (TW_DESC_LOOP) with the count.
 *
 * The counter is a register without a live value there, or, if only an own jump or the previous block leads to the
 * loop, one that is saved meanwhile.
 */
#ifndef TW_CC_LOOPS_H
#define TW_CC_LOOPS_H

#include "cc/assign.h"

struct tw_cc_loop {
	uint8_t counter;  /* TW_NOREG: the block is no such loop */
	uint8_t borrowed; /* its value is put aside */
};

/*
 * For all blocks, to be freed. `values`: does a block have values to record, or operations that count differently
 * each time? NULL: no memory.
 */
struct tw_cc_loop *tw_cc_loops(const struct tw_cc_flow *f, const struct tw_cc_buffer *buffer, const uint8_t *values);

#endif

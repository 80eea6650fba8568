/*
 * Loops that record how often they ran, and nothing else: one block that leads back to itself, of which replay can work out all addresses from what it knows
 * when the loop begins. The block adds 1 to a register that it does not name, its *counter*; whatever leads to the loop clears that first, and what stands
 * behind the loop's branch writes one record (TW_DESC_LOOP) with the count.
 *
 * The counter is a register without a value there, or, where nothing but a jump of its own or the block before leads to the loop, one that is put aside meanwhile.
 */
#ifndef TW_CC_LOOPS_H
#define TW_CC_LOOPS_H

#include "cc/assign.h"

struct tw_cc_loop {
	uint8_t counter;  /* TW_NOREG: the block is no such loop */
	uint8_t borrowed; /* its value is put aside */
};

/* Of all blocks, to be freed. `values`: whether a block has values to record, or operations that count differently each time. NULL: there is no memory. */
struct tw_cc_loop *tw_cc_loops(const struct tw_cc_flow *f, const struct tw_cc_buffer *buffer, const uint8_t *values);

#endif

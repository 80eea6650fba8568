/*
 * Which register holds the buffer pointer in each block, and how it gets there.
 *
 * It is a register that the block neither names nor keeps a value in, the same over as large a region as possible: a
 * whole function, else a loop, the largest first, else a run of blocks. If all predecessors of a block have the
 * pointer in its register, the block finds it there; otherwise it loads it from the thread's slot, and they store it.
 * A block without a free register borrows one, whose value it saves (`borrows`). Between functions it is in r11
 * (calls.h).
 *
 * A block need not move the pointer past its record: the next one then starts at an `offset`, which is the same on
 * every way to it.
 */
#ifndef TW_CC_ASSIGN_H
#define TW_CC_ASSIGN_H

#include "cc/flow.h"

/* Where the pointer is before the block begins. */
enum tw_cc_whence {
	TW_CC_FINDS,    /* in its own register */
	TW_CC_TAKES,    /* in r11 */
	TW_CC_VERIFIES, /* in the slot, and most likely in r11 */
	TW_CC_LOADS,    /* in the slot */
};

struct tw_cc_buffer {
	uint8_t reg;
	uint8_t whence;        /* enum tw_cc_whence */
	uint8_t whence_behind; /* a call: the same where it comes back to */
	uint8_t hands, stores; /* at its end it moves the pointer to r11; to the slot */
	uint8_t stores_behind; /* a call: the code at its return needs it in the slot */
	uint8_t borrows;
	uint32_t offset; /* where its record begins, from the register */
	int32_t adds;    /* by how much it moves the pointer, at its end */
};

/* For all blocks, to be freed; NULL: no memory. `bytes`: of the blocks' records. */
struct tw_cc_buffer *tw_cc_assign(const struct tw_cc_flow *f, const uint16_t *bytes);

#endif

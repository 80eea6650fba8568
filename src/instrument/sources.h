/*
 * What to record instead of an address register that a block computes: the registers it is computed from, each where
 * it is used. This pays if they are not more values, and if unchanged ones stay known from then on.
 */
#ifndef TW_SOURCES_H
#define TW_SOURCES_H

#include "engine/x86_64/block.h"

struct sources {
	const struct block *b;
	u16 before[BLOCK_MAX_INSNS]; /* what is known before each instruction */
	u16 wanted[BLOCK_MAX_INSNS]; /* what to record before each instruction besides its own needs */
	u16 varies;                  /* registers that are not the same the next time */
	bool loops;                  /* the block repeats, so that recorded values are known the next time */
};

/*
 * Register `reg` is not known before instruction `insn`, which needs it. True: other registers are to be recorded
 * instead, noted in `wanted`; the plan must be made again.
 */
bool tw_sources_find(struct sources *s, u8 reg, u8 insn);

#endif

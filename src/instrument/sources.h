/*
 * What to record in the place of an address register that a block works out: the registers it comes from, each where it is used. That is worth it where they are no more values, and where
 * what does not change is known from then on.
 */
#ifndef TW_SOURCES_H
#define TW_SOURCES_H

#include "engine/x86_64/block.h"

struct sources {
	const struct block *b;
	u16 before[BLOCK_MAX_INSNS]; /* what is known before each instruction */
	u16 wanted[BLOCK_MAX_INSNS]; /* what is to be recorded before each, other than what it needs itself */
	u16 varies;                  /* registers that are not the same the next time */
	bool loops;                  /* there is a next time that what is recorded is known */
};

/*
 * Register `reg` is not known before instruction `insn`, which needs it. True: something else is to be recorded, and is noted in `wanted`; the plan is to be
 * made again.
 */
bool tw_sources_find(struct sources *s, u8 reg, u8 insn);

#endif

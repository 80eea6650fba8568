/*
 * A cache of decoded instructions: programs consist of the same few thousand instructions over and over, and a hit
 * costs a fraction of decoding.
 *
 * Branches and rip-relative instructions are stored without their displacement, which is filled in at their address.
 *
 * What must hold: an entry's bytes are a whole instruction, and no instruction's bytes are a prefix of another's. So
 * if the bytes at pc start with an entry's, apart from the displacement, they are that instruction with another
 * displacement, whatever follows. What depends on the address follows from the instruction's target; instructions for
 * which more depends on it are not cached.
 */
#ifndef TW_DECODE_CACHE_H
#define TW_DECODE_CACHE_H

#include "engine/x86_64/block.h"

/* Appends the instruction at pc to the block if it is cached; `room`: bytes that may be read. */
bool tw_decode_cache_take(struct block *b, u64 pc, u64 room);

/* Keeps the block's last instruction; room as above. */
void tw_decode_cache_keep(const struct block *b, u64 room);

#endif

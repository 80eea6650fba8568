/*
 * Decoded instructions, kept: programs are made of the same few thousand instructions over and over, and taking one from here costs a fraction of
 * decoding it.
 *
 * Branches and rip-relative instructions are kept without their displacement, which is filled in where they stand.
 *
 * What must hold: an entry's bytes are a whole instruction, and no instruction's bytes begin with those of another. So if the bytes at pc begin with an
 * entry's, but for the displacement, they are that instruction with another displacement, whatever follows. What depends on where it stands follows from
 * its target; instructions of which more than that does are not kept.
 */
#ifndef TW_DECODE_CACHE_H
#define TW_DECODE_CACHE_H

#include "engine/x86_64/block.h"

/* Appends the instruction at pc to the block if it is kept here; `room`: bytes that may be looked at. */
bool tw_decode_cache_take(struct block *b, u64 pc, u64 room);

/* Keeps the block's last instruction; room as above. */
void tw_decode_cache_keep(const struct block *b, u64 room);

#endif

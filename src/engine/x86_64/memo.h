/*
 * Decoded instructions, kept: programs are made of the same few thousand instructions over and over, and taking one from here costs a fraction of
 * decoding it.
 *
 * What must hold: an entry's bytes are a whole instruction, and no instruction's bytes begin with those of another. So if the bytes at pc begin with an
 * entry's, they are that instruction, whatever follows; only what depends on where it stands has to be filled in, and instructions of which more
 * than that depends on it (branches, rip-relative operands) are not kept.
 */
#ifndef TW_MEMO_H
#define TW_MEMO_H

#include "engine/x86_64/decode.h"

/* Appends the instruction at pc to the block if it is kept here; `room`: bytes that may be looked at. */
bool tw_memo_take(struct block *b, u64 pc, u64 room);

/* Keeps the block's last instruction; room as above. */
void tw_memo_keep(const struct block *b, u64 room);

#endif

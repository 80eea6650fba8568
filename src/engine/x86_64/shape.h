/*
 * The shape of an instruction, guessed from its first bytes without decoding: its length, and the place of its
 * displacement if that determines its target (direct branches and calls, rip-relative operands).
 *
 * Only common compiler-generated instructions are known: prefixes 66, F2, F3 and REX, the one-byte opcodes and those
 * after 0F. The result is not relied on; it says where to look (decode_cache.h).
 */
#ifndef TW_SHAPE_H
#define TW_SHAPE_H

#include "engine/lib.h"

struct shape {
	u8 len, rel_at, rel_bytes; /* rel_bytes 0: no such displacement */
};

/* Of the instruction that begins with the bytes of v, the lowest first. len 0: not known, or more than 8 bytes. */
struct shape tw_shape(u64 v);

#endif

/*
 * Format cf_bit: what the code of fragments and lookups writes (engine/record/bits.h). Flags and all registers are kept. In the state map insn is BITS_TOLD
 * from where the bit or target is part of what has been written.
 */
#ifndef TW_BITS_CODE_H
#define TW_BITS_CODE_H

#include "engine/x86_64/emit.h"

/*
 * Adds a bit to the open group, and begins another when that is complete. `insn` and `flags` are the state in force. Returns the insn to be
 * used in states from here on.
 */
u8 tw_bit_emit(struct emit *e, u8 insn, bool bit, u32 flags);

/* Writes the tag of where an indirect branch has led, in a lookup. */
void tw_bit_emit_target(struct emit *e, u32 tag, u32 flags);

#endif

/*
 * Format cf_bit: the code of fragments and lookups that writes bits and targets (engine/record/bits.h). Flags and all
 * registers are preserved. In the state map insn is BITS_TOLD from the point where the bit or target has been
 * written.
 */
#ifndef TW_BITS_CODE_H
#define TW_BITS_CODE_H

#include "engine/x86_64/emit.h"

/*
 * Adds a bit to the open group, and starts another group when that is complete. `insn` and `flags` are the current
 * state. Returns the insn to use in states from here on.
 */
u8 tw_bit_emit(struct emit *e, u8 insn, bool bit, u32 flags);

/* Writes the tag of where an indirect branch has led, in a lookup. */
void tw_bit_emit_target(struct emit *e, u32 tag, u32 flags);

#endif

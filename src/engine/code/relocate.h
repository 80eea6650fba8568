/*
 * Copies an application instruction to the cache, unchanged except for what depends on its address (rip-relative
 * operands) and for %gs, which is the engine's.
 */
#ifndef TW_RELOCATE_H
#define TW_RELOCATE_H

#include "engine/x86_64/emit.h"

struct block;

/*
 * Emits instruction k of the block, which does not transfer control (INSN_PLAIN). The state is as before; where
 * registers are borrowed the state map says so.
 */
void tw_relocate(struct emit *e, const struct block *b, unsigned k);

#endif

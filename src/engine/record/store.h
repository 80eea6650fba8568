/*
 * What a fragment's code writes to its record: its number at entry, the values of its plan, the statuses of
 * registers.
 */
#ifndef TW_ENGINE_STORE_H
#define TW_ENGINE_STORE_H

#include "engine/record/instrumentor.h"

/* The fragment's number or tag, with which its record begins. */
void tw_emit_number(struct emit *e);

/*
 * Tagged form: bytes of a block's tag, including its escape, if the previous block had tag `before`; and, in a
 * superblock, code that ends the previous part's record and begins this one's. `flags`: of the state in force.
 */
u16 tw_tag_bytes(u32 before, u32 tag);
void tw_emit_next_tag(struct emit *e, const struct block *b, u16 part, const struct piece *pieces, u32 flags);

/* Stores the statuses of registers. */
void tw_emit_statuses(struct emit *e, const struct statuses *s);

/* What the plan wants stored before or after instruction i. */
void tw_emit_stores(struct emit *e, const struct block *b, const struct plan *p, unsigned i, bool after);

#endif

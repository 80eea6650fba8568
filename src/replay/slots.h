/*
 * Positions in a stretch of the references that are the return addresses of calls and returns.
 */
#ifndef TW_REPLAY_SLOTS_H
#define TW_REPLAY_SLOTS_H

#include <trackway/analyzer.h>

/* The last reference before `end`, back to `first`, that its instruction `insn` made with that type (enum tw_ref_type). UINT32_MAX: there is none. */
uint32_t tw_slot_find(const struct tw_ref_shape *refs, uint32_t first, uint32_t end, unsigned insn, uint8_t type);

/* The one of a block of a stretch, if it ends with a call or return; otherwise UINT32_MAX. */
uint32_t tw_slot_of_block(const struct tw_stretch *s, uint32_t block);

/* Is reference `ref` of a stretch one of these? The first ones may belong to a block that started before. */
int tw_slot_is(const struct tw_stretch *s, uint32_t ref);

/*
 * Precomputed for a permanent stretch, in `reserved`: it starts with a block, all its blocks run to their ends, and
 * there is no such reference, or (position plus TW_SLOT_FIRST) exactly one. TW_SLOT_ASK: neither.
 */
enum { TW_SLOT_ASK, TW_SLOT_NONE, TW_SLOT_FIRST };
uint32_t tw_slot_summary(const struct tw_stretch *s);

#endif

/*
 * cct of recordings of parts of a process, of which s->in_parts tells.
 */
#ifndef TW_CCT_PARTS_H
#define TW_CCT_PARTS_H

#include "analyzers/cct_state.h"

/* Whether code that is not recorded may have run since the last block, though that was no call nor return. */
static inline int tw_cct_parts_may_leave(const struct tw_cct_state *s)
{
	return s->in_parts && (s->end == TW_END_JUMP || s->end == TW_END_IJUMP);
}

/* Whether a function begins at the block: 1 or 0; TW_ERR_MEMORY. */
int tw_cct_parts_begins(struct tw_cct_state *s, uint32_t block, uint64_t pc);

/* Control has come to a block after the one before it ended, and there are frames. slot: of a call's or return's address; 0: not known. *arrived: 0: as in any recording, nothing was done. 0 or an error. */
int tw_cct_parts_arrive(struct tw_cct_state *s, uint32_t block, uint64_t pc, uint64_t slot, int *arrived);

/* Whether a block follows the one that ended, a call or a jump, without code in between that is not recorded. */
int tw_cct_parts_is_usual(struct tw_cct_state *s, uint32_t block, uint64_t pc);

#endif

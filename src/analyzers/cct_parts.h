/*
 * cct of recordings of only parts of a process, indicated by s->in_parts.
 */
#ifndef TW_CCT_PARTS_H
#define TW_CCT_PARTS_H

#include "analyzers/cct_state.h"

/* May unrecorded code have run since the last block, although that was no call or return? */
static inline int tw_cct_parts_may_leave(const struct tw_cct_state *s)
{
	return s->in_parts && (s->end == TW_END_JUMP || s->end == TW_END_IJUMP);
}

/* Does a function start at the block? 1 or 0; TW_ERR_MEMORY. */
int tw_cct_parts_begins(struct tw_cct_state *s, uint32_t block, uint64_t pc);

/*
 * Control has reached a block after the previous one ended, and there are frames. slot: of a call's or return's
 * address; 0: not known. *arrived: 0: as in any recording, nothing was done. 0 or an error.
 */
int tw_cct_parts_arrive(struct tw_cct_state *s, uint32_t block, uint64_t pc, uint64_t slot, int *arrived);

/* Does a block follow the one that ended, a call or a jump, without unrecorded code in between? */
int tw_cct_parts_is_usual(struct tw_cct_state *s, uint32_t block, uint64_t pc);

#endif

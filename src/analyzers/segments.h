/*
 * Calling contexts counted by segments: blocks that always run one after another, without a call or return between
 * them, so all of them in one context. A permanent stretch (struct tw_stretch) is divided into segments once; from
 * then on each execution of a segment is counted as a number with its node of the tree. Counts are moved to the tree
 * on demand.
 */
#ifndef TW_SEGMENTS_H
#define TW_SEGMENTS_H

#include "analyzers/contexts.h"

#include <trackway/analyzer.h>

struct tw_segment {
	const struct tw_block_run *blocks;
	uint32_t n_blocks; /* 0: references only, of the block that ran before */
	uint32_t first_ref, n_refs;
	uint32_t last_ref; /* the number of its last block's last reference in the stretch; TW_CONTEXT_NONE: that block has none */
	uint32_t numbers;  /* start of the tree's numbers of its blocks (without blocks: the number of the block before) */
	uint32_t program;  /* whose blocks they are */
	uint8_t ends;      /* enum tw_end of its last block; TW_END_FALL also where that did not come to its end */
	uint8_t is_last;   /* of its stretch */
	uint64_t back;     /* address behind it */
};

/* How often a segment ran in a node. */
struct tw_segment_count {
	uint32_t node, segment; /* segment: + 1; 0: nothing is here */
	uint64_t runs;
};

/* All zeros is empty. */
struct tw_segments {
	struct tw_segment *items;
	uint32_t *of_stretch; /* by its number: its first segment + 1 */
	uint32_t *numbers;
	struct tw_segment_count *counts; /* an open hash */
	size_t n, room, stretches_room, n_numbers, numbers_room;
	uint32_t n_counts, counts_room;
};

enum { TW_SEGMENT_SLOW = UINT32_MAX - 1, TW_SEGMENT_NONE = UINT32_MAX };

/*
 * The first segment of a permanent stretch; the others follow it. `before`: the number of the block that ran before
 * it. TW_SEGMENT_SLOW: take it block by block. TW_SEGMENT_NONE: no memory.
 */
uint32_t tw_segments_of(struct tw_segments *s, struct tw_contexts *c, const struct tw_stretch *stretch, uint32_t program, uint32_t thread,
                        uint32_t before);

/* So many more executions in a node. 0 or TW_ERR_MEMORY. */
int tw_segments_count(struct tw_segments *s, uint32_t node, uint32_t segment, uint64_t runs);

/* Adds all counts to the tree, and counts from 0 again. 0 or TW_ERR_MEMORY. */
int tw_segments_settle(struct tw_segments *s, struct tw_contexts *c);

void tw_segments_free(struct tw_segments *s);

/* The first segment of a stretch, of whatever program; TW_SEGMENT_NONE: there is none. */
static inline uint32_t tw_segments_expected(const struct tw_segments *s, uint32_t stretch)
{
	const uint32_t first = stretch < s->stretches_room ? s->of_stretch[stretch] : 0;
	return first && first != TW_SEGMENT_SLOW ? first - 1 : TW_SEGMENT_NONE;
}

/* What tw_segments_of would return, if known without a search; otherwise TW_SEGMENT_NONE. */
static inline uint32_t tw_segments_known(const struct tw_segments *s, uint32_t stretch, uint32_t program)
{
	const uint32_t first = stretch < s->stretches_room ? s->of_stretch[stretch] : 0;
	if (first == TW_SEGMENT_SLOW)
		return first;
	return first && s->items[first - 1].program == program ? first - 1 : TW_SEGMENT_NONE;
}

/* The tree's numbers of the first and the last block. */
static inline uint32_t tw_segment_first(const struct tw_segments *s, const struct tw_segment *g)
{
	return s->numbers[g->numbers];
}

static inline uint32_t tw_segment_last(const struct tw_segments *s, const struct tw_segment *g)
{
	return s->numbers[g->numbers + (g->n_blocks ? g->n_blocks - 1 : 0)];
}

#endif

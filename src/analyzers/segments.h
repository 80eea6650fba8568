/*
 * Calling contexts counted by segments: blocks that always run one after another, without a call or return between them, so all of them in one context. A stretch
 * that stays (struct tw_stretch) is divided into segments once; from then on an execution of one is a number that is counted with its node of the tree, and a call
 * is a number that is counted with the node, the segment that calls and the one that is called. What was counted goes to the tree when somebody asks for it.
 */
#ifndef TW_SEGMENTS_H
#define TW_SEGMENTS_H

#include "analyzers/contexts.h"

#include <trackway/analyzer.h>

struct tw_segment {
	const struct tw_block_run *blocks;
	uint32_t n_blocks; /* 0: references only, of the block that ran before */
	uint32_t first_ref, n_refs;
	uint32_t last_ref;    /* the number of its last block's last reference in the stretch; TW_CONTEXT_NONE: that block has none */
	uint32_t numbers;     /* where the tree's numbers of its blocks begin (without blocks: the one of the block before) */
	uint32_t program;     /* whose blocks they are */
	uint8_t ends;         /* enum tw_end of its last block; TW_END_FALL also where that did not come to its end */
	uint8_t is_last;      /* of its stretch */
	uint32_t node;        /* in which it ran last; TW_CONTEXT_NONE: none */
	uint64_t back;        /* address behind it */
	uint64_t runs;        /* in that node, which are not among the counts yet */
	uint64_t runs_before; /* the same of the node in which it ran before that one */
	uint32_t node_before;
};

/* The call that a segment made last; two of each, the one before that too. */
struct tw_segment_recent {
	uint32_t parent, entry, node; /* entry: + 1; 0: none */
	uint32_t calls;               /* which are not among the calls yet */
};

/* How often a segment ran in a node. */
struct tw_segment_count {
	uint32_t node, segment; /* segment: + 1; 0: nothing is here */
	uint64_t runs;
};

/* How often a call led from a segment of a node to another segment, and which node that made. */
struct tw_segment_call {
	uint32_t parent, site, entry; /* site: + 1; 0: nothing is here */
	uint32_t node;
	uint64_t calls;
};

/* All zeros is empty. */
struct tw_segments {
	struct tw_segment *items;
	struct tw_segment_recent *recent; /* two of each item */
	uint32_t *of_stretch;             /* by its number: its first segment + 1 */
	uint32_t *numbers;
	struct tw_segment_count *counts; /* open hashes */
	struct tw_segment_call *calls;
	size_t n, room, recent_room, stretches_room, n_numbers, numbers_room;
	uint32_t n_counts, counts_room, n_calls, calls_room;
	/* Executions that are yet to be counted, when the places of their counts have come from memory. Oldest: number `waiting`, round about. */
	struct tw_segment_count wait[16];
	uint32_t waiting;
};

enum { TW_SEGMENT_SLOW = UINT32_MAX - 1, TW_SEGMENT_NONE = UINT32_MAX };

/* The first segment of a stretch that stays; the others follow it. `before`: the number of the block that ran before it. TW_SEGMENT_SLOW: it is to be taken block by
 * block. TW_SEGMENT_NONE: no memory. */
uint32_t tw_segments_of(struct tw_segments *s, struct tw_contexts *c, const struct tw_stretch *stretch, uint32_t program, uint32_t thread,
                        uint32_t before);

/* So many more executions in another node than before; one more call of another segment than before, or from another node. Use the next two. */
int tw_segments_count_elsewhere(struct tw_segments *s, uint32_t node, uint32_t segment, uint64_t runs);
uint32_t tw_segments_call_another(struct tw_segments *s, struct tw_contexts *c, uint32_t parent, uint32_t site, uint32_t entry);

/* So many more executions in a node. 0 or TW_ERR_MEMORY. */
static inline int tw_segments_count(struct tw_segments *s, uint32_t node, uint32_t segment, uint64_t runs)
{
	struct tw_segment *g = &s->items[segment];
	if (g->node != node)
		return tw_segments_count_elsewhere(s, node, segment, runs);
	g->runs += runs;
	return 0;
}

/* One more call, and the node that it leads to; TW_CONTEXT_NONE: no memory. */
static inline uint32_t tw_segments_call(struct tw_segments *s, struct tw_contexts *c, uint32_t parent, uint32_t site, uint32_t entry)
{
	struct tw_segment_recent *r = &s->recent[2 * (size_t)site];
	if (r->parent != parent || r->entry != entry + 1 || r->calls == UINT32_MAX)
		return tw_segments_call_another(s, c, parent, site, entry);
	r->calls++;
	return r->node;
}

/* Adds all that was counted to the tree, and counts from 0 again. 0 or TW_ERR_MEMORY. */
int tw_segments_settle(struct tw_segments *s, struct tw_contexts *c);

void tw_segments_free(struct tw_segments *s);

/* The first segment of a stretch, of whatever program; TW_SEGMENT_NONE: there is none. */
static inline uint32_t tw_segments_expected(const struct tw_segments *s, uint32_t stretch)
{
	const uint32_t first = stretch < s->stretches_room ? s->of_stretch[stretch] : 0;
	return first && first != TW_SEGMENT_SLOW ? first - 1 : TW_SEGMENT_NONE;
}

/* What tw_segments_of tells, if that is known without looking further; else TW_SEGMENT_NONE. */
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

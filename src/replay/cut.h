/*
 * A batch divided in two: its blocks up to one, and the rest.
 */
#ifndef TW_REPLAY_CUT_H
#define TW_REPLAY_CUT_H

#include <trackway/analyzer.h>

struct tw_batch_cut {
	struct tw_batch head, tail;
	struct tw_stretch ends[2];           /* the divided stretch: its parts in head and in tail */
	const struct tw_stretch **stretches; /* head's, then tail's */
	struct tw_block_run *blocks;         /* of ends[1] */
	struct tw_event *events;             /* of tail */
};

/*
 * The first part has n_blocks of `b`, which has more. Both are valid as long as `b` is, and until tw_batch_cut_free,
 * which also accepts all zeros. Use one, and then the other: `head` first. 0 or TW_ERR_MEMORY.
 */
int tw_batch_cut(struct tw_batch_cut *c, const struct tw_batch *b, size_t n_blocks);

/* The second part, when the first has been looked at. */
const struct tw_batch *tw_batch_cut_tail(struct tw_batch_cut *c);
void tw_batch_cut_free(struct tw_batch_cut *c);

#endif

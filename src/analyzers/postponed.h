/*
 * What a thread did and that is not looked at yet, since another thread's part, which came before, is still to come: copies of batches.
 */
#ifndef TW_POSTPONED_H
#define TW_POSTPONED_H

#include <trackway/analyzer.h>

/* A part of a thread's life, written out: as in a batch, or kept. */
struct tw_part {
	const struct tw_block_run *blocks;
	const struct tw_ref *refs;
	const struct tw_event *events;
	size_t n_blocks, n_refs, n_events;
	size_t block, event; /* so far it has been looked at */
};

struct tw_part tw_part_of(const struct tw_batch *b);

/* Parts in their order. All zeros: none. */
struct tw_postponed {
	struct tw_part *parts;
	size_t n, first, room;
};

/* Keeps a copy of what is left of the part. 0 or TW_ERR_MEMORY. */
int tw_postponed_add(struct tw_postponed *p, const struct tw_part *part);

/* The first part, to be looked at further; NULL: there is none. And it is done with. */
struct tw_part *tw_postponed_first(struct tw_postponed *p);
void tw_postponed_drop(struct tw_postponed *p);
void tw_postponed_free(struct tw_postponed *p);

#endif

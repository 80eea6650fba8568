/*
 * Walking through a batch by blocks, or by stretches: events come before the blocks that they precede.
 */
#ifndef TW_BATCH_WALK_H
#define TW_BATCH_WALK_H

#include <trackway/analyzer.h>

/* The current position. Whoever takes a block, or all of a stretch, advances `block`. */
struct tw_batch_walk {
	const struct tw_batch *b;
	size_t block, event; /* the next of each */
};

/* The next event, if it happened before the next block; otherwise NULL. At the end of the batch: each remaining event. */
static inline const struct tw_event *tw_batch_walk_event(struct tw_batch_walk *w)
{
	const struct tw_batch *b = w->b;
	return w->event < b->n_events && b->events[w->event].block <= w->block ? &b->events[w->event++] : NULL;
}

/* Whether something happens before one of the blocks of the next stretch. */
static inline int tw_batch_walk_has_events(const struct tw_batch_walk *w, const struct tw_stretch *stretch)
{
	const struct tw_batch *b = w->b;
	return w->event < b->n_events && b->events[w->event].block < w->block + stretch->n_blocks;
}

#endif

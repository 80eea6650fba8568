/*
 * Data kept for each permanent stretch (tw_stretch.number): how often it ran, and an item of the user's. So what all
 * its executions have in common is counted once, on demand, and each occurrence in a batch costs one addition.
 */
#ifndef TW_KEPT_STRETCHES_H
#define TW_KEPT_STRETCHES_H

#include <stddef.h>
#include <trackway/analyzer.h>

struct tw_kept_stretch {
	const struct tw_stretch *stretch; /* NULL: it was not there */
	uint64_t n;
	void *own;
};

/* All zeros is none. */
struct tw_kept_stretches {
	struct tw_kept_stretch *items; /* by number */
	size_t room;
};

/* The item of a number beyond the present room. NULL: no memory. */
struct tw_kept_stretch *tw_kept_stretches_more(struct tw_kept_stretches *k, const struct tw_stretch *s);

/* The item of a stretch that has a number; its `stretch` is NULL at first. NULL: no memory. */
static inline struct tw_kept_stretch *tw_kept_stretch(struct tw_kept_stretches *k, const struct tw_stretch *s)
{
	return s->number < k->room ? &k->items[s->number] : tw_kept_stretches_more(k, s);
}

/* NULL: there is no room for it yet. */
static inline const struct tw_kept_stretch *tw_kept_stretch_known(const struct tw_kept_stretches *k, const struct tw_stretch *s)
{
	return s->number < k->room ? &k->items[s->number] : NULL;
}

void tw_kept_stretches_free(struct tw_kept_stretches *k);

#endif

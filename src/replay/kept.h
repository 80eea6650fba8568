/*
 * Numbers of permanent stretches (analyzer.h), without reading the stretches: they are stored side by side, by
 * number, so the address gives the number. Counting by number leaves the caches to the counters.
 */
#ifndef TW_REPLAY_KEPT_H
#define TW_REPLAY_KEPT_H

#include <trackway/analyzer.h>

/* There is no number as large. */
enum { TW_KEPT_STRETCHES = 1 << 21 };

struct tw_kept_stretches {
	const struct tw_stretch *first; /* that has number 0, if one had */
	size_t n;
};

/* Those of the replay that made a batch. */
static inline struct tw_kept_stretches tw_kept_stretches(const struct tw_batch *b)
{
	return b->lists ? *(const struct tw_kept_stretches *)(const void *)b->lists : (struct tw_kept_stretches){0};
}

/* The number of a stretch of such a batch: what s->number is. */
static inline uint32_t tw_kept_number(const struct tw_kept_stretches *kept, const struct tw_stretch *s)
{
	const uintptr_t at = ((uintptr_t)s - (uintptr_t)kept->first) / sizeof *s;
	return at < kept->n ? (uint32_t)at : 0;
}

#endif

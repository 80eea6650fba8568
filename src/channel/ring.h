/*
 * A flight recorder (`record --ring`): of the chunks that are made only the last are kept, so many bytes of them or those of so much time, in memory. They are written when the recording ends,
 * or before, as often as that is asked for.
 *
 * What must hold: what is written of a thread is a recording of its own, chunks numbered from 0 and counted from there; where others stood that were dropped, a chunk of nothing but a gap that says
 * so stands in their place.
 *
 * Calls are made by one thread at a time.
 */
#ifndef TW_RING_H
#define TW_RING_H

#include "recording/recording.h"

/* How much is kept; 0: no limit. With both 0 there is no ring. */
struct tw_ring_size {
	uint64_t bytes, ns;
};

struct tw_ring;

/* NULL: no memory. tw_ring_free accepts NULL. */
struct tw_ring *tw_ring_new(const struct tw_ring_size *size);
void tw_ring_free(struct tw_ring *r);

/* Keeps a copy of this chunk and drops the oldest beyond the size, but not the newest in which something was executed. `ran` is when what is in it last executed
 * something. A chunk in which nothing was executed makes no other older: a program that runs on after recording has ended (--keep-when) and then ends writes such chunks. */
int tw_ring_add(struct tw_ring *r, const struct tw_packed *packed, uint64_t ran);

/* Writes all that is kept, oldest first, and is empty then. */
int tw_ring_write(struct tw_ring *r, struct tw_writer *w);

/* Parses a size (64M, 1G) or a time (10s, 500ms). 0, or -1. */
int tw_ring_parse(const char *text, struct tw_ring_size *size);

#endif

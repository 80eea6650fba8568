/*
 * A flight recorder (`record --ring`): of all chunks only the last are kept, in memory, limited by bytes or time.
 * They are written when the recording ends, or earlier, as often as requested.
 *
 * What must hold: what is written of a thread is a recording of its own, with chunks numbered and counted from 0; in
 * place of dropped chunks there is one that contains only a gap saying so.
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

/*
 * Keeps a copy of this chunk and drops the oldest beyond the size, but not the newest in which something was
 * executed. `ran` is when it last executed something. A chunk in which nothing was executed does not make others
 * older: a program that runs on after recording has ended (--keep-when) and then ends writes such chunks.
 */
int tw_ring_add(struct tw_ring *r, const struct tw_packed *packed, uint64_t ran);

/* Writes everything kept, oldest first, and is then empty. */
int tw_ring_write(struct tw_ring *r, struct tw_writer *w);

/* Parses a size (64M, 1G) or a time (10s, 500ms). 0, or -1. */
int tw_ring_parse(const char *text, struct tw_ring_size *size);

#endif

/*
 * The walk: from one chunk to batches of blocks, references and events. This is the inner loop of all replay.
 *
 * A walk needs nothing but programs and the chunk; it is used by one thread at a time and from chunk to chunk again.
 */
#ifndef TW_WALK_H
#define TW_WALK_H

#include "replay/programs.h"
#include "replay/walk_options.h"
#include <trackway/recording.h>

/* What one chunk held. */
struct tw_walk_counts {
	uint64_t insns, blocks, refs;
};

struct tw_walk;

struct tw_walk *tw_walk_new(const struct tw_walk_options *options); /* NULL: no memory */
void tw_walk_free(struct tw_walk *w);

/* Another context for the callbacks, from the next chunk on. */
void tw_walk_set_context(struct tw_walk *w, void *context);

/*
 * Walks a chunk from its keyframe to its end. Returns 0, what batch() returned, TW_ERR_FRAGMENT or TW_ERR_STREAM; whatever was found before an
 * error has been given to batch(). *counts may be NULL.
 */
int tw_walk_chunk(struct tw_walk *w, const struct tw_chunk *chunk, struct tw_walk_counts *counts);

/* The same of a chunk whose values are coded, for programs made for such: chunk->m is not looked at, its M section has the n bytes at `section`; and
 * behind the last of chunk->c stands a 0. Besides, TW_ERR_DAMAGED. */
int tw_walk_coded(struct tw_walk *w, const struct tw_chunk *chunk, const uint8_t *section, size_t n, struct tw_walk_counts *counts);

/* One or the other: a chunk as tw_recording_coded_chunk gives it, for programs made for the values of its recording. */
struct tw_coded_chunk;
int tw_walk_read(struct tw_walk *w, const struct tw_coded_chunk *chunk, struct tw_walk_counts *counts);

/* What batch() returned if it stopped the last walk, else 0. */
int tw_walk_stopped(const struct tw_walk *w);

#endif

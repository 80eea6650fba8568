/*
 * The walk: from one chunk to batches of blocks, references and events. This is the inner loop of all replay.
 *
 * A walk needs only programs and the chunk. It is used by one thread at a time, for one chunk after another.
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
 * Walks a chunk from its keyframe to its end. Returns 0, what batch() returned, TW_ERR_FRAGMENT or TW_ERR_STREAM;
 * everything found before an error has been delivered. *counts may be NULL.
 */
int tw_walk_chunk(struct tw_walk *w, const struct tw_chunk *chunk, struct tw_walk_counts *counts);

/*
 * The same for a chunk with encoded values, and programs made for such: ignores chunk->m; its M section is the n
 * bytes at `section`; and a 0 follows the last of chunk->c. Also TW_ERR_DAMAGED.
 */
int tw_walk_coded(struct tw_walk *w, const struct tw_chunk *chunk, const uint8_t *section, size_t n, struct tw_walk_counts *counts);

/* One or the other: a chunk as from tw_recording_coded_chunk, for programs made for the values of its recording. */
struct tw_coded_chunk;
int tw_walk_read(struct tw_walk *w, const struct tw_coded_chunk *chunk, struct tw_walk_counts *counts);

/* What batch() returned if it stopped the last walk, else 0. */
int tw_walk_stopped(const struct tw_walk *w);

#endif

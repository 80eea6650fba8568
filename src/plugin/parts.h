/*
 * An analysis in parts: the chunks of a recording are cut into units, which can be analyzed apart; a *part* is a number of units one behind the other, with the state
 * that has seen them. Parts that meet are joined. A state can be packed, so that a run can go on where another stopped (state_file.h), and other machines can do a
 * part of the work (src/mpi).
 *
 * A unit is a chunk, of an analyzer of TW_SCOPE_THREADS all chunks of a thread. An analyzer of TW_SCOPE_ALL, or one that has no pack(), cannot work in parts.
 */
#ifndef TW_PARTS_H
#define TW_PARTS_H

#include "plugin/stage.h"

#include <trackway/replay.h>

struct tw_part {
	size_t first, end; /* units */
	void *state;       /* the stage's */
	uint64_t damaged;  /* chunks left out because they are damaged */
};

struct tw_parts;

/* One sentence without a full stop: why an analyzer cannot work in parts. NULL: it can. */
const char *tw_parts_refuse(const struct tw_analyzer *analyzer);

/*
 * `stage` and what `options` point to must stay; of the options what to replay, with how many jobs, and what to do with damage counts. 0 or an enum tw_error.
 */
int tw_parts_new(struct tw_stage *stage, const struct tw_recording *r, const struct tw_replay_options *options, struct tw_parts **out);
void tw_parts_free(struct tw_parts *p);

size_t tw_parts_units(const struct tw_parts *p);

/* What the units before this one cost to replay: by the bytes that are read and decoded. */
uint64_t tw_parts_cost_before(const struct tw_parts *p, size_t unit);

/* The end of a piece that begins with a unit: it costs about `cost`, and is one unit at least. Not behind `end`. */
size_t tw_parts_piece(const struct tw_parts *p, size_t first, size_t end, uint64_t cost);

/* Instructions of the units from first to end. */
uint64_t tw_parts_insns(const struct tw_parts *p, size_t first, size_t end);

/* What tells whether the units before `end` are those of another run: which they are, and of which recording. */
uint64_t tw_parts_digest(const struct tw_parts *p, size_t end);

/* Analyzes units. Returns what tw_replay() does; the part is there if that is 0. */
int tw_parts_run(struct tw_parts *p, size_t first, size_t end, struct tw_part *out);

/* Adds a part to the one that it follows. Frees its state whatever happens. */
int tw_parts_join(struct tw_parts *p, struct tw_part *to, struct tw_part *next);

/* A part's state as bytes, and back; those of unpack are not to be trusted. *bytes is the caller's to free(). 0, an enum tw_error, or what the analyzer returned. */
int tw_parts_pack(const struct tw_parts *p, const struct tw_part *part, char **bytes, size_t *n);
int tw_parts_unpack(struct tw_parts *p, struct tw_part *part, const char *bytes, size_t n);

/* Ends the state of a part: with its answer, if `error` is 0. */
int tw_parts_end(struct tw_parts *p, struct tw_part *part, int error);

#endif

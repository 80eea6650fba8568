/*
 * An analysis in parts: the chunks of a recording are divided into units that can be analyzed independently. A *part*
 * is a sequence of units with the state that has seen them. Adjacent parts are joined. A state can be packed, so that
 * a run can continue where another stopped (state_file.h), and other machines can share the work (src/mpi).
 *
 * A unit is a chunk; for an analyzer of TW_SCOPE_THREADS it is all chunks of a thread. An analyzer of TW_SCOPE_ALL,
 * or without pack(), cannot work in parts.
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

/* Why an analyzer cannot work in parts, as one sentence without a full stop. NULL: it can. */
const char *tw_parts_refuse(const struct tw_analyzer *analyzer);

/*
 * `stage` and what `options` point to must stay valid; of the options, those that say what to replay, with how many
 * jobs, and what to do about damage are used. 0 or an enum tw_error.
 */
int tw_parts_new(struct tw_stage *stage, const struct tw_recording *r, const struct tw_replay_options *options, struct tw_parts **out);
void tw_parts_free(struct tw_parts *p);

size_t tw_parts_units(const struct tw_parts *p);

/* The replay cost of the units before this one: bytes to be read and decoded. */
uint64_t tw_parts_cost_before(const struct tw_parts *p, size_t unit);

/* The end of a piece that begins with a unit, costs about `cost`, and has at least one unit. Not beyond `end`. */
size_t tw_parts_piece(const struct tw_parts *p, size_t first, size_t end, uint64_t cost);

/* Instructions of the units from first to end. */
uint64_t tw_parts_insns(const struct tw_parts *p, size_t first, size_t end);

/* Identifies the units before `end` and their recording, to recognize those of another run. */
uint64_t tw_parts_digest(const struct tw_parts *p, size_t end);

/* Analyzes units. Returns what tw_replay() does; the part exists if that is 0. */
int tw_parts_run(struct tw_parts *p, size_t first, size_t end, struct tw_part *out);

/* Appends a part to the one before it. Frees its state in any case. */
int tw_parts_join(struct tw_parts *p, struct tw_part *to, struct tw_part *next);

/*
 * Converts a part's state to bytes and back; bytes to unpack need not be trusted. *bytes is the caller's to free().
 * 0, an enum tw_error, or what the analyzer returned.
 */
int tw_parts_pack(const struct tw_parts *p, const struct tw_part *part, char **bytes, size_t *n);
int tw_parts_unpack(struct tw_parts *p, struct tw_part *part, const char *bytes, size_t n);

/* Ends the state of a part; gives its answer if `error` is 0. */
int tw_parts_end(struct tw_parts *p, struct tw_part *part, int error);

#endif

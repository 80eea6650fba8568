/*
 * The hottest blocks: for every basic block how often it ran, how many instructions it executed and what references
 * it made; and the totals.
 *
 * Blocks are identified by image and address; different translations of one block count as one.
 */
#ifndef TW_HOT_H
#define TW_HOT_H

#include <trackway/replay.h>

struct tw_hot_counts {
	uint64_t executions, insns, refs, reads, writes;
};

struct tw_hot_block {
	uint64_t pc;
	uint32_t image;                         /* the program in memory that it is part of: see profile.h */
	uint32_t block;                         /* index in the descriptor */
	const struct tw_descriptor *descriptor; /* one translation of it; lives as long as the recording */
	struct tw_hot_counts counts;
};

struct tw_hot {
	struct tw_hot_counts totals;
	struct tw_hot_block *blocks; /* by image, then pc */
	size_t n_blocks;
};

/* In place of tw_replay, as in struct tw_calls_options (calls.h). */
typedef int tw_hot_replay(void *run_context, const struct tw_recording *r, const struct tw_replay_options *replay,
                          const struct tw_analyzer *analyzer, void *arg);
int tw_hot_run_by(tw_hot_replay *run, void *run_context, const struct tw_recording *r, const struct tw_replay_options *options,
                  struct tw_hot *out);

/* Replays `r` and fills *out, which the caller gives to tw_hot_free (on failure it is empty). `options` may be NULL. */
int tw_hot_run(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_hot *out);
void tw_hot_free(struct tw_hot *hot);

void tw_hot_add(struct tw_hot_counts *to, const struct tw_hot_counts *more);

#endif

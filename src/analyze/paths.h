/*
 * Whole-program paths: the sequence of blocks that each thread executed as one grammar (Larus, "Whole Program Paths",
 * PLDI 1999, with blocks in place of acyclic paths; sequitur.h, grammar.h).
 *
 * A terminal of the grammar is a block: an image, an address and a number of instructions (fewer if a signal or a
 * fault stopped it). Terminal n is blocks[n]; terminal 0, TW_GRAMMAR_CUT, stands for something that was not recorded.
 *
 * Memory during construction, per worker: 9 MB for the current segment, 5 MB for joining segments, and its part of
 * the grammar. A thread's blocks are never all in memory.
 */
#ifndef TW_PATHS_H
#define TW_PATHS_H

#include "analyze/grammar.h"
#include <trackway/replay.h>

struct tw_path_block {
	const struct tw_descriptor *descriptor; /* a fragment that it is part of, as block number `block` */
	uint64_t pc;
	uint32_t image; /* see profile.h */
	uint16_t block;
	uint16_t n_insns; /* executed each time */
};

/* The symbols that expand to all that a thread executed. */
struct tw_path_thread {
	uint32_t thread; /* serial number */
	struct tw_symbol_list start;
};

struct tw_paths {
	struct tw_grammar grammar;
	struct tw_path_block *blocks;
	uint32_t n_blocks; /* terminal 0 included */
	struct tw_path_thread *threads;
	size_t n_threads;
};

/* Replays `r` and fills *out, which is empty on failure; tw_paths_free. `options` may be NULL; `grain` is ignored. */
int tw_paths_run(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_paths *out);
void tw_paths_free(struct tw_paths *p);

/* Symbols of all rules and of all threads' starts. */
uint64_t tw_paths_symbols(const struct tw_paths *p);

#endif

/*
 * The hottest of a program's paths, from the grammar of everything that it executed (paths.h).
 *
 * A path is a rule of the grammar: a sequence of blocks that was executed at least twice. A part that repeats itself
 * is a loop, written once with its number of iterations. Paths are chosen one after another, each time the one with
 * most of the instructions that are in none chosen before; it is written in at most `most` blocks.
 *
 * Memory: 56 bytes per rule.
 */
#ifndef TW_HOT_PATHS_H
#define TW_HOT_PATHS_H

#include "analyze/paths.h"

/* A path in written form: blocks, and loops around some of them. */
struct tw_path_term {
	enum { TW_PATH_BLOCK, TW_PATH_LOOP, TW_PATH_END } kind; /* END: of the innermost loop */
	uint32_t block;                                         /* BLOCK: index in tw_paths.blocks */
	uint64_t turns;                                         /* BLOCK: how often in a row; LOOP */
};

struct tw_hot_path {
	uint64_t times;         /* executed, outside of the paths before it */
	uint64_t insns, blocks; /* executed each time */
	uint64_t share;         /* instructions in all that are in no path before it */
	struct tw_path_term *terms;
	size_t n_terms, room;
};

struct tw_hot_paths {
	struct tw_hot_path *paths;
	size_t n;
	uint64_t insns, blocks; /* executed in all */
};

/* At most `top` paths. Returns 0 or TW_ERR_MEMORY; the caller gives *out to tw_hot_paths_free (on failure it is empty). */
int tw_hot_paths_find(const struct tw_paths *p, size_t top, unsigned most, struct tw_hot_paths *out);
void tw_hot_paths_free(struct tw_hot_paths *h);

#endif

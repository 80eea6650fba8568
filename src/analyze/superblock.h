/*
 * Superblock suggestions: paths of static blocks that are likely to be executed from start to end, so that a compiler
 * or a translator gains by laying them out one after another.
 *
 * A path starts with the hottest block that is in no path yet and follows the most frequent edge of each block, as
 * long as that edge takes at least `edge` of the block's executions, and the probability to get this far stays at
 * least `path`. It ends before a block that it already contains; one that leads back to its first block is a loop.
 * Probabilities are those of the edges, assumed to be independent of how a block was reached.
 */
#ifndef TW_SUPERBLOCK_H
#define TW_SUPERBLOCK_H

#include "analyze/profile.h"

struct tw_superblock_options {
	double edge, path; /* 0..1 */
	uint32_t most;     /* paths wanted */
};

#define TW_SUPERBLOCK_DEFAULTS                                                                                                             \
	{                                                                                                                                  \
		.edge = 0.7, .path = 0.5, .most = 10                                                                                       \
	}

enum { TW_SUPERBLOCK_MOST_BLOCKS = 64 };

struct tw_superblock {
	uint32_t first, n; /* its blocks are blocks[first], ... in struct tw_superblocks */
	uint32_t n_insns;  /* from beginning to end */
	int loops;         /* 1: the most frequent edge of its last block leads to its first */
	uint64_t entries;  /* executions of its first block */
	double chance;     /* probability of running to the end of the last block once the first has started */
	double expected;   /* instructions executed per entry, leaving included */
};

/* The hottest first: by the executed instructions of their first blocks. Paths of one block are there only if they loop. */
struct tw_superblocks {
	struct tw_superblock *paths;
	uint32_t *blocks; /* static blocks of the profile */
	uint32_t n, n_blocks;
	struct tw_superblock_options options; /* they were made with */
};

/* 0, or TW_ERR_MEMORY with *out empty. */
int tw_superblocks(const struct tw_profile *p, const struct tw_superblock_options *options, struct tw_superblocks *out);
void tw_superblocks_free(struct tw_superblocks *s);

#endif

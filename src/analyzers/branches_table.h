/*
 * The table of branches: by address, target and memory.
 */
#ifndef TW_BRANCHES_TABLE_H
#define TW_BRANCHES_TABLE_H

#include "analyzers/predictors.h"

#include <stddef.h>
#include <stdint.h>

/* A branch, or one target of an indirect one. */
struct tw_branch {
	uint64_t pc, target;     /* target 0: a conditional branch */
	uint32_t memory, thread; /* thread: one that ran it */
	uint64_t taken, not_taken;
	uint64_t wrong[TW_PREDICTORS];
};

/* All zeros is empty. */
struct tw_branches {
	struct tw_branch *items;
	size_t n, room;
	uint32_t *slots; /* open hash of their numbers + 1 */
	uint32_t n_slots;
};

/* The branch, which is made if it is not there. Valid until the next call. NULL: no memory. */
struct tw_branch *tw_branches_of(struct tw_branches *t, uint64_t pc, uint64_t target, uint32_t memory, uint32_t thread);

/* Adds what another table has of a branch, in `memory`. 0 or TW_ERR_MEMORY. */
int tw_branches_add(struct tw_branches *t, const struct tw_branch *more, uint32_t memory);

void tw_branches_free(struct tw_branches *t);

#endif

/*
 * Joins the parts of all ranks, in the order of the recording, in a tree: neighbours first, then neighbours of those.
 * A part joined to another rank's is sent there packed.
 */
#ifndef TW_MPI_TREE_H
#define TW_MPI_TREE_H

#include "mpi/hand_out.h"

/* A part that a rank has. */
struct tw_owned {
	struct tw_span part;
	int rank;
};

/*
 * The parts of all ranks, sorted by place; of overlapping ones, the first. All ranks call it, and get the same. NULL:
 * no memory in this rank.
 */
struct tw_owned *tw_tree_list(const struct tw_job *job, size_t *n);

/*
 * Joins all parts, which must leave no gap, into one for each recording, in rank 0. All ranks call it. Returns 0, or
 * an exit status after reporting the error.
 */
int tw_tree_join(struct tw_job *job);

#endif

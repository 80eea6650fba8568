/*
 * State files of a job: rank N stores its parts in FILE.N. Those of an earlier job with any number of ranks are read
 * by all ranks together. So is FILE itself, which a completed job or `trackway analyze` leaves.
 */
#ifndef TW_MPI_KEPT_H
#define TW_MPI_KEPT_H

#include "mpi/tree.h"

/* Reads what there is, and gives each part to one rank. All ranks call it. Returns an exit status, the same in all ranks. */
int tw_kept_load(struct tw_job *job);

/* Stores the parts of this rank if it is time. Returns 0, or an exit status after reporting the error. */
int tw_kept_save(struct tw_job *job);

/* Everything is done, and rank 0 has it: stores it in FILE. All ranks call it. Likewise. */
int tw_kept_end(struct tw_job *job);

#endif

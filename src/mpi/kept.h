/*
 * State files of a job: rank N keeps its parts in FILE.N. Those of an earlier job, of any number of ranks, are read by all ranks together, and so is FILE itself,
 * which a job that came to its end leaves, and `trackway analyze`.
 */
#ifndef TW_MPI_KEPT_H
#define TW_MPI_KEPT_H

#include "mpi/tree.h"

/* Reads what there is, and has each part in one rank. All ranks call it. Returns an exit status, the same in all ranks. */
int tw_kept_load(struct tw_job *job);

/* Keeps the parts of this rank, if it is time for it. Returns 0 or an exit status, after having said what is wrong. */
int tw_kept_save(struct tw_job *job);

/* All is done, and rank 0 has it: it goes to FILE. All ranks call it. Likewise. */
int tw_kept_end(struct tw_job *job);

#endif

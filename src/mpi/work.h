/*
 * What a rank does: it opens the recordings, analyzes pieces, or, with --mine, recordings of its own, and rank 0 prints the answers.
 */
#ifndef TW_MPI_WORK_H
#define TW_MPI_WORK_H

#include "mpi/job.h"

/* Runs a job on recordings that all ranks see. All ranks call it. Returns an exit status. */
int tw_work_together(struct tw_job *job, char **dirs, size_t n);

/* Runs it with each rank on recordings that only it sees; %r in their names is its number. Likewise. */
int tw_work_alone(struct tw_job *job, char **dirs, size_t n);

#endif

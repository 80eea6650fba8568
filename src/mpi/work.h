/*
 * What a rank does: it opens the recordings, and analyzes pieces, or with --mine recordings of its own; rank 0 prints
 * the answers.
 */
#ifndef TW_MPI_WORK_H
#define TW_MPI_WORK_H

#include "mpi/job.h"

/* Runs a job on recordings that all ranks see. All ranks call it. Returns an exit status. */
int tw_work_together(struct tw_job *job, char **dirs, size_t n);

/* Runs it on recordings that only one rank sees; %r in their names is the rank's number. Likewise. */
int tw_work_alone(struct tw_job *job, char **dirs, size_t n);

#endif

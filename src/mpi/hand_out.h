/*
 * Distribution of work: rank 0 gives pieces of it to any rank that asks. A piece costs (tw_parts_cost_before) the
 * remaining cost divided by twice the number of ranks. So there are few pieces, the last ones are small, and faster
 * ranks get more (guided self-scheduling: Polychronopoulos and Kuck, 1987).
 */
#ifndef TW_MPI_HAND_OUT_H
#define TW_MPI_HAND_OUT_H

#include "mpi/job.h"

#include <pthread.h>

/* Units of a recording that are to be done. */
struct tw_span {
	size_t recording, first, end;
};

struct tw_hand_out {
	const struct tw_job *job;
	struct tw_span *gaps;
	size_t n, next;
	uint64_t left; /* cost */
	pthread_t thread;
	int runs;
};

/* Starts, in rank 0, handing out everything not in `done`: n parts, sorted by place, without overlap. 0 or an enum tw_error. */
int tw_hand_out_start(struct tw_hand_out *h, const struct tw_job *job, const struct tw_span *done, size_t n);

/* The next piece for this rank. 0: none. `failed`: this rank has failed, and no rank gets any more pieces. */
int tw_hand_out_ask(int failed, struct tw_span *piece);

/* Waits until all ranks know that there are no more pieces. */
void tw_hand_out_end(struct tw_hand_out *h);

#endif

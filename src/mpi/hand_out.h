/*
 * Who does what: rank 0 hands out pieces of what is to be done, to whoever asks. A piece costs (tw_parts_cost_before) what is left, divided by twice the number of
 * ranks: so there are few pieces, the last ones are small, and ranks that are done early get more (guided self-scheduling: Polychronopoulos and Kuck, 1987).
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

/* Begins to serve, in rank 0, what is not part of `done`, n parts sorted by place that do not overlap. 0 or an enum tw_error. */
int tw_hand_out_start(struct tw_hand_out *h, const struct tw_job *job, const struct tw_span *done, size_t n);

/* The next piece for this rank. 0: there is none. `failed`: this rank has, and there is to be none for any rank any more. */
int tw_hand_out_ask(int failed, struct tw_span *piece);

/* Waits until all ranks have been told that there is none. */
void tw_hand_out_end(struct tw_hand_out *h);

#endif

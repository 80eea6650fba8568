/*
 * What ranks spend their time with (--times).
 */
#ifndef TW_MPI_SPENT_H
#define TW_MPI_SPENT_H

#include <stdint.h>
#include <stdio.h>

/* Of one rank, in seconds. */
struct tw_spent {
	double open;   /* recordings */
	double replay; /* pieces */
	double wait;   /* for pieces, and for other ranks to have done theirs */
	double join;   /* parts: packing, sending, unpacking, merging; and waiting for other ranks' */
	double pieces;
	double insns; /* that were replayed */
	double sent;  /* bytes of packed parts */
};

/* Prints those of all ranks, in rank 0. All ranks call it. */
void tw_spent_print(FILE *f, const struct tw_spent *own, int rank, int size);

#endif

#include "mpi/spent.h"

#include <mpi.h>
#include <stdlib.h>

enum { NUMBERS = sizeof(struct tw_spent) / sizeof(double) };

void tw_spent_print(FILE *f, const struct tw_spent *own, int rank, int size)
{
	struct tw_spent *all = rank ? NULL : calloc((size_t)size, sizeof *all);
	int there = rank || all;
	MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (there)
		MPI_Gather(own, NUMBERS, MPI_DOUBLE, all, NUMBERS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (all)
		fprintf(f, "  rank     open s   replay s     wait s     join s  pieces   instructions   bytes sent\n");
	for (int i = 0; i < size && all; i++)
		fprintf(f, "%6d %10.3f %10.3f %10.3f %10.3f %7.0f %14.0f %12.0f\n", i, all[i].open, all[i].replay, all[i].wait, all[i].join,
		        all[i].pieces, all[i].insns, all[i].sent);
	free(all);
}

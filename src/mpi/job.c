#include "mpi/job.h"
#include "base/array.h"
#include "cli/cli.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>

/* MPI counts in int. */
enum { MOST = 1 << 30 };

int tw_job_agree(int status)
{
	int all = status;
	MPI_Allreduce(&status, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	return all;
}

void tw_job_send(int to, const char *bytes, size_t n)
{
	uint64_t size = bytes ? n : UINT64_MAX;
	MPI_Send(&size, 1, MPI_UINT64_T, to, TW_MPI_BYTES, MPI_COMM_WORLD);
	for (size_t at = 0; bytes && at < n; at += MOST)
		MPI_Send(bytes + at, n - at < MOST ? (int)(n - at) : MOST, MPI_BYTE, to, TW_MPI_BYTES, MPI_COMM_WORLD);
}

/* Even without memory the bytes are received: the sender waits for that. */
void tw_job_receive(int from, char **bytes, size_t *n)
{
	uint64_t size;
	MPI_Recv(&size, 1, MPI_UINT64_T, from, TW_MPI_BYTES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	*n = size == UINT64_MAX ? 0 : (size_t)size;
	*bytes = size == UINT64_MAX ? NULL : malloc(*n + 1);
	char *rest = *bytes || !*n ? NULL : malloc(MOST);
	for (size_t at = 0; at < *n; at += MOST)
		MPI_Recv(*bytes ? *bytes + at : rest, *n - at < MOST ? (int)(*n - at) : MOST, MPI_BYTE, from, TW_MPI_BYTES, MPI_COMM_WORLD,
		         MPI_STATUS_IGNORE);
	free(rest);
}

int tw_job_add(struct tw_job *job, size_t recording, const struct tw_part *part)
{
	struct tw_job_recording *r = &job->recordings[recording];
	for (size_t i = 0; i < job->n_parts; i++) {
		struct tw_job_part *before = &job->parts[i];
		if (before->recording != recording || before->part.end != part->first)
			continue;
		struct tw_part next = *part;
		int error = tw_parts_join(r->parts, &before->part, &next);
		return error ? tw_session_failed(&r->session, error) : 0;
	}
	struct tw_job_part *parts = tw_array_room(job->parts, job->n_parts, &job->room, sizeof *parts);
	if (!parts)
		return tw_recording_error("analyze", r->dir, TW_ERR_MEMORY);
	job->parts = parts;
	parts[job->n_parts++] = (struct tw_job_part){recording, *part};
	return 0;
}

double tw_job_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#include "mpi/tree.h"
#include "cli/cli.h"
#include "recording/recording.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* ---- whose parts there are ---- */

enum { NUMBERS = 4 }; /* of a part: recording, first, end, rank */

static int by_place(const void *a, const void *b)
{
	const struct tw_owned *x = a, *y = b;
	if (x->part.recording != y->part.recording)
		return x->part.recording < y->part.recording ? -1 : 1;
	if (x->part.first != y->part.first)
		return x->part.first < y->part.first ? -1 : 1;
	if (x->part.end != y->part.end)
		return x->part.end > y->part.end ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static struct tw_owned *sort_out(const uint64_t *numbers, size_t all, size_t *n)
{
	struct tw_owned *owned = calloc(all + 1, sizeof *owned);
	*n = 0;
	for (size_t i = 0; owned && i < all; i++, numbers += NUMBERS)
		owned[i] = (struct tw_owned){{numbers[0], numbers[1], numbers[2]}, (int)numbers[3]};
	if (owned && all)
		qsort(owned, all, sizeof *owned, by_place);
	for (size_t i = 0; owned && i < all; i++) {
		const struct tw_span *last = *n ? &owned[*n - 1].part : NULL, *part = &owned[i].part;
		if (!last || last->recording != part->recording || last->end <= part->first)
			owned[(*n)++] = owned[i];
	}
	return owned;
}

struct tw_owned *tw_tree_list(const struct tw_job *job, size_t *n)
{
	int own = (int)job->n_parts * NUMBERS, all = 0;
	int *counts = calloc((size_t)job->size, sizeof *counts), *places = calloc((size_t)job->size, sizeof *places);
	uint64_t *numbers = calloc((size_t)own + 1, sizeof *numbers), *gathered = NULL;
	struct tw_owned *owned = NULL;
	if (!tw_job_agree(!counts || !places || !numbers)) {
		for (size_t i = 0; i < job->n_parts; i++) {
			const struct tw_job_part *p = &job->parts[i];
			memcpy(numbers + i * NUMBERS, (uint64_t[]){p->recording, p->part.first, p->part.end, (uint64_t)job->rank},
			       NUMBERS * sizeof *numbers);
		}
		MPI_Allgather(&own, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_WORLD);
		for (int i = 0; i < job->size; all += counts[i++])
			places[i] = all;
		gathered = calloc((size_t)all + 1, sizeof *gathered);
	}
	if (!tw_job_agree(!gathered)) {
		MPI_Allgatherv(numbers, own, MPI_UINT64_T, gathered, counts, places, MPI_UINT64_T, MPI_COMM_WORLD);
		owned = sort_out(gathered, (size_t)all / NUMBERS, n);
	}
	free(counts);
	free(places);
	free(numbers);
	free(gathered);
	return owned;
}

/* ---- joining ---- */

static struct tw_job_part *find(struct tw_job *job, const struct tw_span *part)
{
	for (size_t i = 0; i < job->n_parts; i++)
		if (job->parts[i].recording == part->recording && job->parts[i].part.first == part->first)
			return &job->parts[i];
	return NULL;
}

static void drop(struct tw_job *job, struct tw_job_part *p)
{
	*p = job->parts[--job->n_parts];
}

/* What was found of names goes with a part. */
static uint64_t findings(const struct tw_job_recording *r)
{
	return r->session.stage.views ? tw_views_findings(r->session.stage.views) : 0;
}

static int send_part(struct tw_job *job, const struct tw_owned *o, int to)
{
	struct tw_job_part *p = find(job, &o->part);
	struct tw_job_recording *r = &job->recordings[o->part.recording];
	char *bytes = NULL;
	size_t n = 0;
	int error = p ? tw_parts_pack(r->parts, &p->part, &bytes, &n) : TW_ERR_MEMORY;
	const uint64_t numbers[] = {p ? p->part.damaged : 0, findings(r)};
	MPI_Send(numbers, 2, MPI_UINT64_T, to, TW_MPI_PIECE, MPI_COMM_WORLD);
	tw_job_send(to, bytes, n);
	job->times.sent += (double)n;
	free(bytes);
	if (p) {
		tw_parts_end(r->parts, &p->part, 1);
		drop(job, p);
	}
	return error ? tw_session_failed(&r->session, error) : 0;
}

static int receive_part(struct tw_job *job, const struct tw_owned *o)
{
	struct tw_job_recording *r = &job->recordings[o->part.recording];
	struct tw_part part = {.first = o->part.first, .end = o->part.end};
	uint64_t numbers[2];
	char *bytes;
	size_t n;
	MPI_Recv(numbers, 2, MPI_UINT64_T, o->rank, TW_MPI_PIECE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	tw_job_receive(o->rank, &bytes, &n);
	part.damaged = numbers[0];
	r->session.damage.chunks += part.damaged;
	if (r->session.stage.views)
		tw_views_add_findings(r->session.stage.views, (uint32_t)numbers[1]);
	int error = bytes ? tw_parts_unpack(r->parts, &part, bytes, n) : tw_fail(TW_ERR_MEMORY, "state of rank %d", o->rank);
	free(bytes);
	return error ? tw_session_failed(&r->session, error) : tw_job_add(job, o->part.recording, &part);
}

/* Adds the right part to the left one. Each rank does its side; or one rank that has both. */
static int join_pair(struct tw_job *job, struct tw_owned *left, const struct tw_owned *right)
{
	int status = 0;
	if (job->rank == right->rank && job->rank != left->rank)
		status = send_part(job, right, left->rank);
	else if (job->rank == left->rank && job->rank != right->rank)
		status = receive_part(job, right);
	else if (job->rank == left->rank) {
		struct tw_job_part *p = find(job, &right->part);
		struct tw_part part = p ? p->part : (struct tw_part){0};
		if (p) {
			drop(job, p);
			status = tw_job_add(job, right->part.recording, &part);
		}
	}
	left->part.end = right->part.end;
	return status;
}

/* All ranks go through the pairs in the same order, so that there is no deadlock. */
static int join_recording(struct tw_job *job, struct tw_owned *owned, size_t n)
{
	int status = 0;
	for (size_t step = 1; step < n; step *= 2) {
		for (size_t i = 0; i + step < n; i += 2 * step) {
			int failed = join_pair(job, &owned[i], &owned[i + step]);
			status = status ? status : failed;
		}
	}
	if (owned->rank && job->rank == owned->rank)
		return send_part(job, owned, 0) || status;
	return (owned->rank && !job->rank && receive_part(job, owned)) || status;
}

int tw_tree_join(struct tw_job *job)
{
	size_t n;
	struct tw_owned *owned = tw_tree_list(job, &n);
	int status = owned ? 0 : tw_recording_error("analyze", job->request->name, TW_ERR_MEMORY);
	if (tw_job_agree(status)) {
		free(owned);
		return 1;
	}
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && owned[end].part.recording == owned[first].part.recording; end++)
			;
		int failed = join_recording(job, owned + first, end - first);
		status = status ? status : failed;
	}
	free(owned);
	return status;
}

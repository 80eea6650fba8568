#include "mpi/hand_out.h"
#include "recording/recording.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static size_t n_units(const struct tw_job *job, size_t recording)
{
	const struct tw_parts *parts = job->recordings[recording].parts;
	return parts ? tw_parts_units(parts) : 1;
}

/* Of a whole recording it is what its chunks count. */
static uint64_t cost_of(const struct tw_job *job, size_t recording, size_t first, size_t end)
{
	const struct tw_job_recording *r = &job->recordings[recording];
	if (!r->parts)
		return tw_recording_totals(r->session.recording)->refs + tw_recording_totals(r->session.recording)->insns;
	return tw_parts_cost_before(r->parts, end) - tw_parts_cost_before(r->parts, first);
}

/* ---- pieces ---- */

static void add_gap(struct tw_hand_out *h, size_t recording, size_t first, size_t end)
{
	if (first == end)
		return;
	h->gaps[h->n++] = (struct tw_span){recording, first, end};
	h->left += cost_of(h->job, recording, first, end);
}

static void list_gaps(struct tw_hand_out *h, const struct tw_span *done, size_t n)
{
	for (size_t r = 0, i = 0; r < h->job->n_recordings; r++) {
		size_t at = 0;
		for (; i < n && done[i].recording == r; i++) {
			add_gap(h, r, at, done[i].first);
			at = done[i].end;
		}
		add_gap(h, r, at, n_units(h->job, r));
	}
}

static int take(struct tw_hand_out *h, struct tw_span *piece)
{
	if (h->next == h->n)
		return 0;
	struct tw_span *gap = &h->gaps[h->next];
	const struct tw_parts *parts = h->job->recordings[gap->recording].parts;
	*piece = *gap;
	if (parts)
		piece->end = tw_parts_piece(parts, gap->first, gap->end, h->left / (2 * (uint64_t)h->job->size));
	h->left -= cost_of(h->job, piece->recording, piece->first, piece->end);
	gap->first = piece->end;
	h->next += gap->first == gap->end;
	return 1;
}

/* ---- serving ---- */

/* Answers a rank's question; returns 1 if the answer is that there is no more. */
static int answer(struct tw_hand_out *h, int from)
{
	int failed;
	struct tw_span piece;
	MPI_Recv(&failed, 1, MPI_INT, from, TW_MPI_ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (failed)
		h->next = h->n;
	int is_there = take(h, &piece);
	const uint64_t numbers[] = {(uint64_t)is_there, is_there ? piece.recording : 0, is_there ? piece.first : 0,
	                            is_there ? piece.end : 0};
	MPI_Send(numbers, 4, MPI_UINT64_T, from, TW_MPI_PIECE, MPI_COMM_WORLD);
	return !is_there;
}

/* Ranks get answers within a millisecond; waiting takes no processor time from replay. */
static void *serve(void *context)
{
	struct tw_hand_out *h = context;
	const struct timespec pause = {.tv_nsec = 500000};
	for (int told = 0; told < h->job->size;) {
		int asked;
		MPI_Status status;
		MPI_Iprobe(MPI_ANY_SOURCE, TW_MPI_ASK, MPI_COMM_WORLD, &asked, &status);
		if (asked)
			told += answer(h, status.MPI_SOURCE);
		else
			nanosleep(&pause, NULL);
	}
	return NULL;
}

int tw_hand_out_start(struct tw_hand_out *h, const struct tw_job *job, const struct tw_span *done, size_t n)
{
	*h = (struct tw_hand_out){.job = job, .gaps = calloc(n + job->n_recordings + 1, sizeof *h->gaps)};
	if (!h->gaps)
		return tw_fail(TW_ERR_MEMORY, "list of pieces");
	list_gaps(h, done, n);
	h->runs = !pthread_create(&h->thread, NULL, serve, h);
	return h->runs ? 0 : tw_fail(TW_ERR_MEMORY, "thread");
}

int tw_hand_out_ask(int failed, struct tw_span *piece)
{
	uint64_t numbers[4];
	MPI_Request waiting;
	const struct timespec pause = {.tv_nsec = 200000};
	int there = 0;
	MPI_Send(&failed, 1, MPI_INT, 0, TW_MPI_ASK, MPI_COMM_WORLD);
	MPI_Irecv(numbers, 4, MPI_UINT64_T, 0, TW_MPI_PIECE, MPI_COMM_WORLD, &waiting);
	for (;;) {
		MPI_Test(&waiting, &there, MPI_STATUS_IGNORE);
		if (there)
			break;
		nanosleep(&pause, NULL);
	}
	*piece = (struct tw_span){numbers[1], numbers[2], numbers[3]};
	return numbers[0] != 0;
}

void tw_hand_out_end(struct tw_hand_out *h)
{
	if (h->runs)
		pthread_join(h->thread, NULL);
	free(h->gaps);
}

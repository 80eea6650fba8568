/*
 * A job: one request, and recordings that several processes (ranks) analyze together, with MPI.
 *
 * All ranks see all recordings. Rank 0 hands out pieces of them (hand_out.h). Each rank adds what it has seen to
 * parts of its own (plugin/parts.h). At the end, parts are joined in a tree (tree.h) into one for each recording, in
 * rank 0, which has the answer. With a state file, each rank stores its parts (kept.h).
 *
 * An analyzer that cannot work in parts gets whole recordings, handed out in the same way; its answers are sent as
 * text.
 */
#ifndef TW_MPI_JOB_H
#define TW_MPI_JOB_H

#include "cli/request.h"
#include "cli/session.h"
#include "mpi/spent.h"
#include "plugin/parts.h"

struct tw_job_recording {
	const char *dir;
	struct tw_session session;
	int is_open;
	struct tw_parts *parts; /* NULL: the analyzer cannot work in parts */
	char *text;             /* otherwise: the answer, of `n` bytes, in the rank that has it */
	size_t n;
	FILE *f; /* what becomes text */
};

/* A part that this rank has. */
struct tw_job_part {
	size_t recording;
	struct tw_part part;
};

struct tw_job {
	int rank, size;
	const struct tw_request *request;
	struct tw_run how;
	struct tw_job_recording *recordings;
	size_t n_recordings;
	struct tw_job_part *parts;
	size_t n_parts, room;
	double saved, saving; /* when parts were kept last; how long that took */
	int with_times;
	struct tw_spent times;
};

enum { TW_MPI_ASK = 1, TW_MPI_PIECE, TW_MPI_BYTES };

/* The highest status of any rank: all ranks call it, and get the same. */
int tw_job_agree(int status);

/*
 * Any number of bytes from rank to rank. `bytes` NULL: they could not be made; the receiver's *bytes is then NULL, as
 * without memory; else the receiver must free() it.
 */
void tw_job_send(int to, const char *bytes, size_t n);
void tw_job_receive(int from, char **bytes, size_t *n);

/* Adds a part to this rank, joined to the one before it if this rank has that. Returns 0, or an exit status after reporting the error. */
int tw_job_add(struct tw_job *job, size_t recording, const struct tw_part *part);

double tw_job_now(void);

#endif

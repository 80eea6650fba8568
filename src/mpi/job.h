/*
 * A job: one request, and recordings that a number of processes (ranks) analyze together, with MPI.
 *
 * All ranks see all recordings. Rank 0 hands out pieces of them (hand_out.h), each rank adds what it has seen to parts of its own (plugin/parts.h), and at the end parts
 * are joined in a tree (tree.h), up to one for each recording, with rank 0, which has the answer. With a state file each rank keeps its parts (kept.h).
 *
 * An analyzer that cannot work in parts gets whole recordings, which are handed out likewise; its answers are sent as text.
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
	char *text;             /* where it cannot: the answer, of `n` bytes, in the rank that has it */
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

/* Whether any rank has this status, the highest: all ranks call it, and get the same. */
int tw_job_agree(int status);

/* Bytes of any number, from rank to rank. `bytes` NULL: they could not be made. *bytes is NULL then, or there is no memory; else the caller's to free(). */
void tw_job_send(int to, const char *bytes, size_t n);
void tw_job_receive(int from, char **bytes, size_t *n);

/* A part that this rank has from now on; joined to the one before it, if it has that. Returns 0 or an exit status, after having said what is wrong. */
int tw_job_add(struct tw_job *job, size_t recording, const struct tw_part *part);

double tw_job_now(void);

#endif

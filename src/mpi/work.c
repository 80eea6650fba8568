#include "mpi/work.h"
#include "cli/cli.h"
#include "cli/stateful.h"
#include "mpi/kept.h"
#include "mpi/quiet.h"
#include "recording/recording.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* ---- recordings ---- */

/*
 * Opens a recording. Errors in a recording that all ranks see are reported by rank 0 only; errors that only another
 * rank finds, by that rank.
 */
static int open_recording(struct tw_job *job, struct tw_job_recording *r)
{
	if (job->rank)
		tw_be_quiet();
	r->f = open_memstream(&r->text, &r->n);
	int status = r->f ? tw_session_open(&r->session, "analyze", job->request, r->dir, job->how.jobs, r->f) : 1;
	r->is_open = !status;
	if (!status && !tw_parts_refuse(job->request->analyzer)) {
		int error = tw_parts_new(&r->session.stage, r->session.recording, &r->session.options, &r->parts);
		status = error ? tw_session_failed(&r->session, error) : 0;
	}
	tw_be_loud();
	return status;
}

static int open_all(struct tw_job *job, char **dirs, size_t n)
{
	int status = 0;
	job->recordings = calloc(n, sizeof *job->recordings);
	if (!job->recordings)
		return tw_job_agree(tw_recording_error("analyze", job->request->name, TW_ERR_MEMORY));
	for (; job->n_recordings < n && !status; job->n_recordings++) {
		struct tw_job_recording *r = &job->recordings[job->n_recordings];
		r->dir = dirs[job->n_recordings];
		int own = open_recording(job, r), first = own;
		MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
		if (own && !first)
			fprintf(stderr, "%s analyze: %s: rank %d cannot open it, though rank 0 can\n", tw_cli_program, r->dir, job->rank);
		status = tw_job_agree(own);
	}
	return status;
}

/* Digests tell whether all ranks see the same. */
static int check_same(const struct tw_job *job)
{
	int status = 0;
	for (size_t i = 0; i < job->n_recordings; i++) {
		const struct tw_parts *parts = job->recordings[i].parts;
		uint64_t own = parts ? tw_parts_digest(parts, tw_parts_units(parts)) : 0, first = own;
		MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
		if (own == first)
			continue;
		fprintf(stderr, "%s analyze: %s: rank %d sees another recording there than rank 0: --mine is for recordings of its own\n",
		        tw_cli_program, job->recordings[i].dir, job->rank);
		status = 1;
	}
	return tw_job_agree(status);
}

static void close_all(struct tw_job *job)
{
	for (size_t i = 0; i < job->n_parts; i++)
		tw_parts_end(job->recordings[job->parts[i].recording].parts, &job->parts[i].part, 1);
	for (size_t i = 0; i < job->n_recordings; i++) {
		struct tw_job_recording *r = &job->recordings[i];
		tw_parts_free(r->parts);
		if (r->is_open)
			tw_session_close(&r->session, 1);
		if (r->f)
			fclose(r->f);
		free(r->text);
	}
	free(job->recordings);
	free(job->parts);
}

/* ---- pieces ---- */

static int run_piece(struct tw_job *job, const struct tw_span *piece)
{
	struct tw_job_recording *r = &job->recordings[piece->recording];
	uint64_t budget = !job->how.state ? UINT64_MAX : tw_stateful_first(&job->how);
	int status = 0;
	for (size_t at = piece->first, end; at < piece->end && !status; at = end) {
		struct tw_part part;
		double start = tw_job_now();
		end = tw_parts_piece(r->parts, at, piece->end, budget);
		int error = tw_parts_run(r->parts, at, end, &part);
		status = error ? tw_session_failed(&r->session, error) : tw_job_add(job, piece->recording, &part);
		job->times.insns += (double)tw_parts_insns(r->parts, at, end);
		if (job->how.state && !status) {
			budget = tw_stateful_next(&job->how, budget, tw_job_now() - start);
			status = tw_kept_save(job);
		}
	}
	return status;
}

/* Analyzes a whole recording, up to its answer, for an analyzer that cannot work in parts. */
static int run_whole(struct tw_job *job, const struct tw_span *piece)
{
	struct tw_job_recording *r = &job->recordings[piece->recording];
	const struct tw_analyzer stage = tw_stage_analyzer(job->request);
	int error = tw_replay(r->session.recording, &r->session.options, &stage, &r->session.stage);
	int status = tw_session_close(&r->session, error ? tw_session_failed(&r->session, error) : 0);
	r->is_open = 0;
	fclose(r->f);
	r->f = NULL;
	return status;
}

static int ask(struct tw_job *job, int failed, struct tw_span *piece)
{
	double start = tw_job_now();
	int is_there = tw_hand_out_ask(failed, piece);
	job->times.wait += tw_job_now() - start;
	return is_there;
}

static int run_pieces(struct tw_job *job, const struct tw_owned *owned, size_t n)
{
	struct tw_hand_out hand_out = {0};
	struct tw_span piece, *done = calloc(n + 1, sizeof *done);
	int status = done ? 0 : tw_recording_error("analyze", job->request->name, TW_ERR_MEMORY);
	for (size_t i = 0; i < n && done; i++)
		done[i] = owned[i].part;
	if (!status && !job->rank && tw_hand_out_start(&hand_out, job, done, n))
		status = tw_recording_error("analyze", job->request->name, TW_ERR_MEMORY);
	int ready = !tw_job_agree(status);
	while (ready && ask(job, status != 0, &piece)) {
		double start = tw_job_now();
		status = job->recordings[piece.recording].parts ? run_piece(job, &piece) : run_whole(job, &piece);
		job->times.replay += tw_job_now() - start;
		job->times.pieces++;
	}
	double start = tw_job_now();
	tw_hand_out_end(&hand_out);
	free(done);
	status = tw_job_agree(status);
	job->times.wait += tw_job_now() - start;
	return status;
}

/* ---- answers ---- */

static void print_heading(const struct tw_job *job, FILE *f, const char *dir, int rank)
{
	if (job->request->form != TW_ANSWER_TEXT)
		return;
	if (rank >= 0)
		fprintf(f, "%s, rank %d:\n\n", dir, rank);
	else if (job->n_recordings > 1)
		fprintf(f, "%s:\n\n", dir);
}

/* Ends the single part of each recording, which rank 0 has. */
static int end_parts(struct tw_job *job, FILE *f)
{
	int status = 0;
	for (size_t i = 0; i < job->n_recordings; i++) {
		struct tw_job_recording *r = &job->recordings[i];
		struct tw_part part = {0};
		int error = 0;
		size_t k = 0;
		while (k < job->n_parts && job->parts[k].recording != i)
			k++;
		if (k < job->n_parts) {
			part = job->parts[k].part;
			job->parts[k] = job->parts[--job->n_parts];
		} else {
			error = tw_parts_run(r->parts, 0, 0, &part);
		}
		error = error ? error : tw_parts_end(r->parts, &part, 0);
		int failed = tw_session_close(&r->session, error ? tw_session_failed(&r->session, error) : 0);
		r->is_open = 0;
		fclose(r->f);
		r->f = NULL;
		print_heading(job, f, r->dir, -1);
		fwrite(r->text, 1, r->n, f);
		status = status ? status : failed;
	}
	return status;
}

/* Sends other ranks' texts, and rank 0's, to where the answer goes. All ranks call it. */
static void print_texts(struct tw_job *job, FILE *f)
{
	for (size_t i = 0; i < job->n_recordings; i++) {
		struct tw_job_recording *r = &job->recordings[i];
		int has = !r->is_open && r->text ? job->rank : -1, owner;
		MPI_Allreduce(&has, &owner, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
		if (owner == job->rank && job->rank)
			tw_job_send(0, r->text, r->n);
		if (job->rank || owner < 0)
			continue;
		if (owner) {
			free(r->text);
			tw_job_receive(owner, &r->text, &r->n);
		}
		print_heading(job, f, r->dir, -1);
		fwrite(r->text ? r->text : "", 1, r->text ? r->n : 0, f);
	}
}

/* Opens what rank 0 writes. Returns whether it did. */
static int open_output(const struct tw_job *job, char **dirs, size_t n, struct tw_outfile *to)
{
	for (size_t i = 1; i < n && job->request->output; i++)
		if (tw_is_part_of(job->request->output, dirs[i])) {
			fprintf(stderr, "%s analyze: %s: it is a file of a recording\n", tw_cli_program, job->request->output);
			return 0;
		}
	return tw_request_open_output("analyze", job->request, dirs[0], stdout, to);
}

/* ---- jobs ---- */

/* Reports how the analyzer limits the use of many ranks. */
static void tell_scope(const struct tw_job *job)
{
	const struct tw_analyzer *a = job->request->analyzer;
	const char *refusal = tw_parts_refuse(a);
	if (job->rank || (!refusal && a->scope == TW_SCOPE_CHUNKS))
		return;
	if (refusal)
		fprintf(stderr, "%s analyze: %s: %s: one rank looks at each recording\n", tw_cli_program, job->request->name, refusal);
	else
		fprintf(stderr, "%s analyze: %s: it cannot be merged across chunks, and runs by thread\n", tw_cli_program,
		        job->request->name);
}

static int run_job(struct tw_job *job)
{
	size_t n = 0;
	const char *refusal = tw_parts_refuse(job->request->analyzer);
	if (refusal && job->how.state)
		return job->rank ? 1 : tw_session_complain(&job->recordings[0].session, refusal);
	tell_scope(job);
	int status = check_same(job);
	if (!status && job->how.state)
		status = tw_kept_load(job);
	if (status)
		return status;
	struct tw_owned *owned = tw_tree_list(job, &n);
	status = owned ? run_pieces(job, owned, n) : 1;
	free(owned);
	double start = tw_job_now();
	if (!status && !refusal)
		status = tw_job_agree(tw_tree_join(job));
	job->times.join = tw_job_now() - start;
	if (!status && job->how.state)
		status = tw_kept_end(job);
	return status;
}

int tw_work_together(struct tw_job *job, char **dirs, size_t n)
{
	struct tw_outfile to = {0};
	int status = tw_job_agree(!job->rank && !open_output(job, dirs, n, &to));
	double start = tw_job_now();
	if (!status)
		status = open_all(job, dirs, n);
	job->times.open = tw_job_now() - start;
	if (!status)
		status = run_job(job);
	if (!status && job->with_times)
		tw_spent_print(stderr, &job->times, job->rank, job->size);
	if (!status && tw_parts_refuse(job->request->analyzer))
		print_texts(job, to.f);
	else if (!status && !job->rank)
		status = end_parts(job, to.f);
	close_all(job);
	return tw_job_agree(tw_request_close_output("analyze", job->request, &to, status));
}

/* ---- each rank its own ---- */

/* The name with each %r replaced by the rank; the caller's to free(). NULL: no memory. */
static char *own_name(const struct tw_job *job, const char *dir)
{
	char *name;
	size_t n;
	FILE *f = open_memstream(&name, &n);
	for (const char *c = dir; f && *c; c++) {
		if (c[0] == '%' && c[1] == 'r')
			fprintf(f, "%d", (c++, job->rank));
		else
			fputc(*c, f);
	}
	return f && !fclose(f) ? name : NULL;
}

/* Its answer goes to `f`. */
static int run_own(struct tw_job *job, const char *dir, FILE *f)
{
	struct tw_session s;
	struct tw_run how = job->how;
	char *state = how.state ? own_name(job, how.state) : NULL;
	how.state = state;
	int status = tw_session_open(&s, "analyze", job->request, dir, how.jobs, f);
	if (!status && how.state) {
		status = tw_stateful_run(&s, &how);
		status = tw_session_close(&s, status);
	} else if (!status) {
		const struct tw_analyzer stage = tw_stage_analyzer(job->request);
		int error = tw_replay(s.recording, &s.options, &stage, &s.stage);
		status = tw_session_close(&s, error ? tw_session_failed(&s, error) : 0);
	}
	free(state);
	return status;
}

/* The answers for each rank's recording, in the order of ranks. */
static void print_own(struct tw_job *job, const char *dir, const char *text, size_t n, FILE *f)
{
	if (job->rank) {
		tw_job_send(0, dir, strlen(dir) + 1);
		tw_job_send(0, text, n);
		return;
	}
	print_heading(job, f, dir, 0);
	fwrite(text, 1, n, f);
	for (int rank = 1; rank < job->size; rank++) {
		char *name, *other;
		size_t name_bytes, bytes;
		tw_job_receive(rank, &name, &name_bytes);
		tw_job_receive(rank, &other, &bytes);
		if (name && other && bytes) {
			print_heading(job, f, name, rank);
			fwrite(other, 1, bytes, f);
		}
		free(name);
		free(other);
	}
}

int tw_work_alone(struct tw_job *job, char **dirs, size_t n)
{
	struct tw_outfile to = {0};
	int status = tw_job_agree(!job->rank && !open_output(job, dirs, n, &to));
	if (!status && job->how.state && !strstr(job->how.state, "%r"))
		status = job->rank ? 1 : tw_usage_error("analyze", "with --mine, the file of --state must contain %%r, the rank");
	for (size_t i = 0; i < n && !tw_job_agree(status > 1); i++) {
		char *dir = own_name(job, dirs[i]), *text = NULL;
		size_t bytes = 0;
		FILE *own = dir ? open_memstream(&text, &bytes) : NULL;
		int failed = own ? run_own(job, dir, own) : tw_recording_error("analyze", dirs[i], TW_ERR_MEMORY);
		if (own)
			fclose(own);
		print_own(job, dir ? dir : "", text ? text : "", text ? bytes : 0, to.f);
		status = status ? status : failed;
		free(dir);
		free(text);
	}
	return tw_job_agree(tw_request_close_output("analyze", job->request, &to, status));
}

#include "mpi/kept.h"
#include "cli/cli.h"
#include "cli/stateful.h"
#include "recording/recording.h"

#include <glob.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int complain(const char *file, const char *why)
{
	fprintf(stderr, "%s analyze: %s: %s\n", tw_cli_program, file, why);
	return 1;
}

/* FILE.RANK; the caller's to free(). NULL: no memory. */
static char *own_file(const struct tw_job *job, int rank)
{
	char *name;
	return asprintf(&name, "%s.%d", job->how.state, rank) < 0 ? NULL : name;
}

/* ---- loading ---- */

/* Not one that was never written to its end, FILE.N.new. */
static int is_of_rank(const char *name)
{
	const char *number = strrchr(name, '.') + 1;
	return *number && !number[strspn(number, "0123456789")];
}

/* The existing files, each name with a final NUL, as found by rank 0. */
static int list_files(const struct tw_job *job, char **names, size_t *bytes)
{
	char *pattern = NULL;
	glob_t found = {0};
	FILE *f = open_memstream(names, bytes);
	if (!f)
		return 1;
	if (!access(job->how.state, F_OK))
		fprintf(f, "%s%c", job->how.state, 0);
	if (asprintf(&pattern, "%s.[0-9]*", job->how.state) >= 0 && !glob(pattern, 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (is_of_rank(found.gl_pathv[i]))
				fprintf(f, "%s%c", found.gl_pathv[i], 0);
	globfree(&found);
	free(pattern);
	return fclose(f) != 0;
}

static int share_files(const struct tw_job *job, char **names, size_t *bytes)
{
	int wrong = job->rank ? 0 : list_files(job, names, bytes);
	uint64_t n = *bytes;
	MPI_Bcast(&n, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	if (job->rank)
		*names = malloc(n + 1);
	*bytes = n;
	if (tw_job_agree(wrong || !*names))
		return 1;
	MPI_Bcast(*names, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD);
	return 0;
}

static int unpack(struct tw_job *job, size_t recording, const char *file, const struct tw_packed_part *p)
{
	struct tw_job_recording *r = &job->recordings[recording];
	struct tw_part part = {.first = p->first, .end = p->end, .damaged = p->damaged};
	int error = tw_parts_unpack(r->parts, &part, p->bytes, p->n);
	if (error == TW_ERR_DAMAGED)
		return complain(file, "it is damaged");
	if (error)
		return tw_session_failed(&r->session, error);
	if (r->session.stage.views)
		tw_views_add_findings(r->session.stage.views, (uint32_t)p->findings);
	r->session.damage.chunks += p->damaged;
	return tw_job_add(job, recording, &part);
}

static int load_file(struct tw_job *job, const char *file)
{
	struct tw_packed_parts all, own;
	char why[256];
	int status = tw_state_read(file, job->request, &all, why, sizeof why) ? complain(file, why) : 0;
	for (size_t i = 0; i < job->n_recordings && !status; i++) {
		tw_stateful_choose(job->recordings[i].parts, &all, &own);
		for (size_t k = 0; k < own.n && !status; k++)
			status = unpack(job, i, file, &own.items[k]);
		tw_packed_parts_free(&own);
	}
	if (!status && all.n)
		status = complain(file, "it is of another recording, or this one has changed since");
	tw_packed_parts_free(&all);
	return status;
}

/* Drops parts that overlap another rank's: two files had them, because a job ended while reading them. */
static void drop_doubles(struct tw_job *job, const struct tw_owned *owned, size_t n)
{
	for (size_t i = 0; i < job->n_parts;) {
		struct tw_job_part *p = &job->parts[i];
		size_t k = 0;
		while (k < n && (owned[k].rank != job->rank || owned[k].part.recording != p->recording ||
		                 owned[k].part.first != p->part.first || owned[k].part.end != p->part.end))
			k++;
		if (k < n) {
			i++;
			continue;
		}
		job->recordings[p->recording].session.damage.chunks -= p->part.damaged;
		tw_parts_end(job->recordings[p->recording].parts, &p->part, 1);
		*p = job->parts[--job->n_parts];
	}
}

static int has_parts(const struct tw_owned *owned, size_t n, int rank)
{
	while (n > 0 && owned[n - 1].rank != rank)
		n--;
	return n > 0;
}

/* Files whose parts stand in others now. */
static void remove_old(const struct tw_job *job, const char *names, size_t bytes, const struct tw_owned *owned, size_t n)
{
	for (const char *name = names; name < names + bytes; name += strlen(name) + 1) {
		int stays = 0;
		for (int rank = 0; rank < job->size && !stays; rank++) {
			char *own = own_file(job, rank);
			stays = !own || (!strcmp(own, name) && has_parts(owned, n, rank));
			free(own);
		}
		if (!stays)
			unlink(name);
	}
}

static int save_now(struct tw_job *job, const char *file);

static int keep_own(struct tw_job *job)
{
	char *own = own_file(job, job->rank);
	int status = !own ? tw_recording_error("analyze", job->how.state, TW_ERR_MEMORY) : job->n_parts ? save_now(job, own) : 0;
	free(own);
	return status;
}

static int load_files(struct tw_job *job, const char *names, size_t bytes)
{
	int number = 0, status = 0;
	size_t n = 0;
	for (const char *name = names; name < names + bytes && !status; name += strlen(name) + 1)
		if (number++ % job->size == job->rank)
			status = load_file(job, name);
	if (tw_job_agree(status))
		return 1;
	struct tw_owned *owned = tw_tree_list(job, &n);
	if (owned)
		drop_doubles(job, owned, n);
	status = tw_job_agree(owned ? keep_own(job) : 1);
	if (!status && !job->rank)
		remove_old(job, names, bytes, owned, n);
	free(owned);
	return status;
}

int tw_kept_load(struct tw_job *job)
{
	char *names = NULL;
	size_t bytes = 0;
	int status = 0;
	for (size_t i = 0; i < job->n_recordings && !status; i++)
		if (tw_is_part_of(job->how.state, job->recordings[i].dir))
			status = job->rank ? 1 : complain(job->how.state, "it is a file of the recording");
	status = tw_job_agree(status);
	if (!status)
		status = share_files(job, &names, &bytes) ? tw_recording_error("analyze", job->how.state, TW_ERR_MEMORY) : 0;
	if (!status && bytes)
		status = load_files(job, names, bytes);
	free(names);
	job->saved = tw_job_now();
	return status;
}

/* ---- saving ---- */

static int save_now(struct tw_job *job, const char *file)
{
	struct tw_packed_parts all = {0};
	double start = tw_job_now();
	char why[256];
	int status = 0;
	for (size_t i = 0; i < job->n_parts && !status; i++) {
		struct tw_job_recording *r = &job->recordings[job->parts[i].recording];
		int error = tw_packed_parts_add(&all, r->parts, &job->parts[i].part, r->session.stage.views);
		status = error ? tw_session_failed(&r->session, error) : 0;
	}
	if (!status && tw_state_write(file, job->request, &all, why, sizeof why))
		status = complain(file, why);
	tw_packed_parts_free(&all);
	job->saved = tw_job_now();
	job->saving = job->saved - start;
	return status;
}

int tw_kept_save(struct tw_job *job)
{
	double past = tw_job_now() - job->saved;
	if (past < (double)job->how.every || past < 9 * job->saving)
		return 0;
	return keep_own(job);
}

int tw_kept_end(struct tw_job *job)
{
	int status = tw_job_agree(job->rank ? 0 : save_now(job, job->how.state));
	char *own = status ? NULL : own_file(job, job->rank);
	if (own)
		unlink(own);
	free(own);
	return status;
}

/*
 * The reader. Opening scans the headers of all blocks and chunks; their contents are read, checked and decompressed
 * on demand (chunks) or at once (descriptors and modules). If a header is damaged the scan continues at the next
 * whole one.
 */
#include "recording/reader_state.h"
#include "recording/value_map.h"
#include "base/zeros.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void count(struct tw_recording *r, int error, const char *what, uint64_t wanted, uint64_t found)
{
	if (!r->problems.n && found < wanted)
		tw_reader_problem(r, error, "%llu of %llu %s", (unsigned long long)(wanted - found), (unsigned long long)wanted, what);
}

/* For a closed recording the totals are known. If something else is already wrong that explains why there is less. */
static void count_all(struct tw_recording *r)
{
	const struct tw_totals *t = &r->info.totals;
	if (!r->info.complete || r->info.sink != TW_SINK_FILE)
		return;
	count(r, TW_ERR_MISSING, "thread files", t->threads, r->sum.threads);
	count(r, TW_ERR_TRUNCATED, "chunks not there", t->chunks, r->sum.chunks);
	count(r, TW_ERR_TRUNCATED, "fragments not in " TW_CODE_FILE, t->fragments, r->sum.fragments);
}

/* How the first process ended is in the header. */
static void end_first(struct tw_recording *r)
{
	struct tw_process *p = r->processes.process;
	if (!r->processes.n || (!r->info.complete && !r->info.duration_ns))
		return;
	p->ended = 1;
	p->wait_status = r->info.wait_status;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void note_most(struct tw_reader_most *most, const struct tw_chunk_info *c)
{
	most->tags = larger(most->tags, c->raw[TW_STREAM_C] / sizeof(uint16_t));
	most->section = larger(most->section, larger(c->coded[TW_STREAM_C], c->coded[TW_STREAM_M]));
}

static void sum_threads(struct tw_recording *r)
{
	for (size_t i = 0; i < r->threads.n; i++) {
		const struct tw_reader_thread *t = tw_reader_thread(r, i);
		for (size_t k = 0; k < t->chunks.n; k++) {
			const struct tw_chunk_info *c = (struct tw_chunk_info *)t->chunks.items + k;
			tw_reader_sum(&r->sum, c);
			note_most(&r->most, c);
		}
		r->sum.cut +=
		    r->info.complete && t->chunks.n && tw_chunk_is_cut(((struct tw_chunk_info *)t->chunks.items)[t->chunks.n - 1].flags);
	}
	r->sum.threads = r->threads.n;
}

/* ---- opening and closing ---- */

static int open_directory(struct tw_recording *r, const char *dir)
{
	r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return r->dir_fd < 0 ? tw_fail(TW_ERR_SYSTEM, "%s: %s", dir, strerror(errno)) : TW_OK;
}

/* Why a recording that nobody has closed is incomplete: a writer has its directory locked. */
static int say_why_open(struct tw_recording *r)
{
	const char *why = "the recorder was killed";
	if (r->info.complete || r->info.failure[0])
		return TW_OK;
	if (flock(r->dir_fd, LOCK_EX | LOCK_NB))
		why = errno == EWOULDBLOCK ? "still being written" : "still being written, or the recorder was killed";
	else
		flock(r->dir_fd, LOCK_UN);
	free(r->info.failure);
	r->info.failure = strdup(why);
	return r->info.failure ? TW_OK : tw_fail(TW_ERR_MEMORY, "header");
}

struct tw_recording *tw_reader_new(const char *of)
{
	struct tw_recording *r = tw_zeros_new(sizeof *r);
	if (r) {
		r->dir_fd = -1;
		r->table.item = sizeof(struct tw_descriptor *);
		r->values = tw_value_map_new(0);
	}
	if (r && r->values)
		return r;
	tw_recording_close(r);
	tw_fail(TW_ERR_MEMORY, "%s", of);
	return NULL;
}

int tw_recording_open(const char *dir, struct tw_recording **out)
{
	struct tw_recording *r = tw_reader_new(dir);
	*out = NULL;
	if (!r)
		return TW_ERR_MEMORY;
	int error = tw_header_read(dir, &r->info);
	if (!error)
		error = open_directory(r, dir);
	if (!error)
		error = say_why_open(r);
	if (!error)
		error = tw_reader_threads(r);
	if (!error)
		error = tw_reader_code(r);
	if (!error)
		error = tw_reader_names(r);
	if (!error)
		error = tw_processes_build(&r->processes);
	if (error) {
		tw_recording_close(r);
		return error;
	}
	end_first(r);
	sum_threads(r);
	count_all(r);
	*out = r;
	return TW_OK;
}

const struct tw_budget *tw_recording_budget(const struct tw_recording *r, size_t *n)
{
	*n = r->budget_periods;
	return r->budget;
}

const struct tw_budget_end *tw_recording_budget_end(const struct tw_recording *r)
{
	return r->has_budget_end ? &r->budget_end : NULL;
}

void tw_recording_close(struct tw_recording *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->threads.n; i++) {
		struct tw_reader_thread *t = tw_reader_thread(r, i);
		free(t->chunks.items);
		free(t->checks.items);
		free(t->kept.items);
	}
	for (size_t i = 0; i < r->problems.n; i++)
		free(((struct tw_problem *)r->problems.items)[i].text);
	for (size_t i = 0; i < r->blocks.n; i++)
		free(((void **)r->blocks.items)[i]);
	tw_numbered_free(&r->table);
	if (r->dir_fd >= 0)
		close(r->dir_fd);
	tw_processes_free(&r->processes);
	free(r->threads.items);
	free(r->modules.items);
	free(r->problems.items);
	free(r->descriptors.items);
	free(r->blocks.items);
	free(r->names.items);
	free(r->notes.items);
	tw_value_map_free(r->values);
	tw_reader_free_kept(r->kept);
	tw_header_free(&r->info);
	tw_zeros_free(r, sizeof *r);
}

/* ---- asking ---- */

const struct tw_recording_info *tw_recording_info(const struct tw_recording *r)
{
	return &r->info;
}

size_t tw_recording_n_threads(const struct tw_recording *r)
{
	return r->threads.n;
}

const struct tw_thread_info *tw_recording_thread(const struct tw_recording *r, size_t thread)
{
	return thread < r->threads.n ? &tw_reader_thread(r, thread)->info : NULL;
}

size_t tw_recording_find_thread(const struct tw_recording *r, uint32_t serial)
{
	size_t low = 0, high = r->threads.n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (tw_reader_thread(r, middle)->info.serial < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->threads.n && tw_reader_thread(r, low)->info.serial == serial ? low : r->threads.n;
}

const struct tw_chunk_info *tw_recording_chunk_info(const struct tw_recording *r, size_t thread, size_t chunk)
{
	if (thread >= r->threads.n || chunk >= tw_reader_thread(r, thread)->chunks.n)
		return NULL;
	return (const struct tw_chunk_info *)tw_reader_thread(r, thread)->chunks.items + chunk;
}

size_t tw_recording_n_modules(const struct tw_recording *r)
{
	return r->modules.n;
}

const struct tw_module *tw_recording_module(const struct tw_recording *r, size_t module)
{
	return module < r->modules.n ? (const struct tw_module *)r->modules.items + module : NULL;
}

size_t tw_recording_n_processes(const struct tw_recording *r)
{
	return r->processes.n;
}

const struct tw_process *tw_recording_process(const struct tw_recording *r, size_t process)
{
	return process < r->processes.n ? &r->processes.process[process] : NULL;
}

size_t tw_recording_process_of(const struct tw_recording *r, size_t thread)
{
	const struct tw_thread_info *t = tw_recording_thread(r, thread);
	const struct tw_process *p = t ? tw_processes_find(&r->processes, t->pid, t->serial) : NULL;
	return p ? (size_t)(p - r->processes.process) : r->processes.n;
}

size_t tw_recording_lineage(const struct tw_recording *r, const struct tw_thread_info *thread, struct tw_ancestor out[TW_LINEAGE])
{
	return tw_processes_lineage(&r->processes, thread->pid, thread->serial, out);
}

const char *tw_recording_program(const struct tw_recording *r, const struct tw_thread_info *thread)
{
	return tw_processes_program(&r->processes, thread->pid, thread->serial);
}

size_t tw_recording_n_problems(const struct tw_recording *r)
{
	return r->problems.n;
}

const struct tw_problem *tw_recording_problem(const struct tw_recording *r, size_t problem)
{
	return problem < r->problems.n ? (const struct tw_problem *)r->problems.items + problem : NULL;
}

const struct tw_totals *tw_recording_totals(const struct tw_recording *r)
{
	return r->info.complete || r->info.sink == TW_SINK_COUNT ? &r->info.totals : &r->sum;
}

int tw_recording_replayable(const struct tw_recording *r)
{
	if (r->info.format == TW_FORMAT_NONE)
		return tw_fail(TW_ERR_NOTHING, "%s", "");
	return r->info.sink == TW_SINK_COUNT ? tw_fail(TW_ERR_COUNT_ONLY, "%s", "") : TW_OK;
}

void tw_recording_sum(const struct tw_recording *r, struct tw_totals *out)
{
	*out = r->sum;
}

const struct tw_descriptor *tw_recording_descriptor(const struct tw_recording *r, uint32_t number)
{
	const struct tw_descriptor **row = tw_numbered_row(&r->table, number >> 16);
	return row ? row[number & 0xffff] : NULL;
}

const struct tw_value_map *tw_recording_values(const struct tw_recording *r)
{
	return r->kept ? NULL : r->values;
}

uint64_t tw_recording_described(const struct tw_recording *r)
{
	return r->described;
}

size_t tw_recording_n_descriptors(const struct tw_recording *r)
{
	return r->descriptors.n;
}

const struct tw_descriptor *tw_recording_descriptor_at(const struct tw_recording *r, size_t i)
{
	return i < r->descriptors.n ? ((const struct tw_descriptor **)r->descriptors.items)[i] : NULL;
}

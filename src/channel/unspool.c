#include "channel/unspool.h"
#include "base/array.h"
#include "channel/output.h"
#include "channel/output_jobs.h"
#include "channel/output_queue.h"
#include "channel/output_told.h"
#include "channel/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

/* A buffer in the spool, and the head of its slot. */
struct found {
	unsigned slot;
	struct tw_spooled head;
};

/* How far a thread is. */
struct resumed {
	int known;
	uint32_t next; /* the chunk that the first buffers are for */
	uint32_t last; /* and the last ones so far; the one before at first */
	int ends;      /* what comes now misses something */
	uint64_t insns, blocks, refs;
};

struct unspool {
	int dir_fd;
	const char *dir;
	struct tw_recording *r;
	struct tw_writer *writer;
	struct tw_spool *spool;
	struct tw_demux *demux;
	struct tw_output *output;
	struct tw_spool_room *room;
	uint64_t described; /* bytes of the descriptors that there are */
	uint8_t *uncoded;   /* those of them that the code file did not have: the demultiplexer refers to them */
	struct found *found;
	size_t n_found, found_room;
	struct resumed *thread; /* by serial number */
	size_t n_threads;
	uint64_t buffers, lost;
};

/* ---- what there is ---- */

/* Thread by thread: so no chunk ends early because another starts, and chunks become what they would have been. */
static int by_thread(const void *a, const void *b)
{
	const struct tw_spooled *x = &((const struct found *)a)->head, *y = &((const struct found *)b)->head;
	if (x->serial != y->serial)
		return x->serial < y->serial ? -1 : 1;
	return (x->put > y->put) - (x->put < y->put);
}

static int find(struct unspool *u)
{
	for (unsigned slot = 0; slot < tw_spool_slots(u->spool); slot++) {
		struct found one = {.slot = slot};
		if (tw_spool_head(u->spool, slot, &one.head))
			continue;
		struct found *all = tw_array_room(u->found, u->n_found, &u->found_room, sizeof *all);
		if (!all)
			return tw_fail(TW_ERR_MEMORY, TW_SPOOL_FILE);
		u->found = all;
		all[u->n_found++] = one;
	}
	if (u->n_found)
		qsort(u->found, u->n_found, sizeof *u->found, by_thread);
	return TW_OK;
}

/* Where the thread goes on: behind its last chunk in the recording. */
static struct resumed *resume(struct unspool *u, uint32_t serial)
{
	struct resumed *all = tw_array_zeros(u->thread, serial, &u->n_threads, sizeof *all), *t = all ? &all[serial] : NULL;
	const size_t i = tw_recording_find_thread(u->r, serial);
	const struct tw_thread_info *info = tw_recording_thread(u->r, i);
	const struct tw_chunk_info *last = info && info->n_chunks ? tw_recording_chunk_info(u->r, i, info->n_chunks - 1) : NULL;
	if (!all)
		return NULL;
	u->thread = all;
	if (t->known)
		return t;
	t->known = 1;
	t->last = UINT32_MAX;
	if (last) {
		t->last = last->sequence;
		t->next = last->sequence + 1;
		t->insns = last->first_insn + last->insns;
		t->blocks = last->first_block + last->blocks;
		t->refs = last->first_ref + last->refs;
	}
	const struct tw_totals before = {.insns = t->insns, .blocks = t->blocks, .refs = t->refs};
	return tw_output_resume(u->output, serial, t->next, &before) ? NULL : t;
}

/* ---- encoding it ---- */

/* Whether what it says of modules and processes has been written. */
static int is_told(const struct unspool *u, const struct found *f)
{
	return f->head.put <= tw_spool_last_told(u->spool) || (f->head.flags & TW_SPOOLED_TOLD);
}

/* So that it is not written again, should this be broken off. */
static void note_told(struct unspool *u, const struct found *f)
{
	struct tw_spooled head = f->head;
	head.flags |= TW_SPOOLED_TOLD;
	if (!is_told(u, f))
		tw_spool_write_head(u->spool, f->slot, &head);
}

static struct tw_thread_info thread_of(const struct found *f)
{
	return (struct tw_thread_info){.serial = f->head.serial, .pid = f->head.pid, .tid = f->head.tid, .parent_pid = f->head.parent_pid};
}

/*
 * A buffer whose chunk is in the recording. Its reports on modules and processes need not be: buffers are reported in
 * order of arrival, and an earlier one of another thread may not have been looked at.
 */
static void tell(struct unspool *u, const struct found *f, const struct tw_demux_input *in)
{
	struct tw_job *job = tw_output_take(u->output);
	job->chunk.thread = f->head.serial;
	job->chunk.sequence = f->head.sequence;
	job->chunk.flags = f->head.flags & ~TW_SPOOLED_TOLD;
	job->chunk.upper = 0;
	tw_demux_buffer(u->demux, in, &job->chunk);
	job->thread = thread_of(f);
	job->dead = (int)f->head.dead;
	job->wait_status = f->head.wait_status;
	job->is_told = 0;
	tw_output_look_at_events(u->output, job);
	tw_output_drop(u->output, job);
	note_told(u, f);
}

static void put(struct unspool *u, struct resumed *t, const struct found *f, const struct tw_demux_input *in)
{
	struct tw_job *job = tw_output_take(u->output);
	struct tw_chunk *c = &job->chunk;
	c->thread = f->head.serial;
	c->flags = f->head.flags & ~TW_SPOOLED_TOLD;
	c->upper = 0;
	c->first_insn = t->insns;
	c->first_block = t->blocks;
	c->first_ref = t->refs;
	tw_demux_buffer(u->demux, in, c);
	if (tw_recording_info(u->r)->format != TW_FORMAT_CALL)
		tw_demux_strip_refs(c);
	if (!c->n_c) {
		tw_output_drop(u->output, job);
		t->ends = 1;
		u->lost++;
		return;
	}
	if (f->head.sequence != t->last)
		tw_output_thread_ends(u->output, f->head.serial);
	t->last = f->head.sequence;
	t->insns += c->insns;
	t->blocks += c->blocks;
	t->refs += c->refs;
	job->thread = thread_of(f);
	job->dead = (int)f->head.dead;
	job->wait_status = f->head.wait_status;
	job->is_told = is_told(u, f);
	tw_output_put(u->output, job);
	note_told(u, f);
	u->buffers++;
}

/*
 * A buffer whose chunk is in the recording has been encoded. Nothing of a thread is taken after something missing.
 * Chunks are divided as before, so this can be resumed, too, if it is interrupted.
 */
static int take(struct unspool *u, const struct found *f)
{
	struct resumed *t = resume(u, f->head.serial);
	struct tw_demux_input in;
	if (!t)
		return TW_ERR_MEMORY;
	if (f->head.sequence < t->next) {
		if (!is_told(u, f) && f->head.descriptors <= u->described &&
		    !tw_spool_read(u->spool, f->slot, f->head.bytes, f->head.slack_end, u->room, &in))
			tell(u, f, &in);
		return TW_OK;
	}
	t->ends |= f->head.descriptors > u->described || f->head.sequence - t->last > 1 ||
	           tw_spool_read(u->spool, f->slot, f->head.bytes, f->head.slack_end, u->room, &in);
	u->lost += (unsigned)t->ends;
	if (!t->ends)
		put(u, t, f, &in);
	return TW_OK;
}

/* ---- beginning and ending ---- */

static int take_descriptors(struct unspool *u)
{
	int error = TW_OK;
	uint64_t used;
	for (size_t i = 0; !error && i < tw_recording_n_descriptors(u->r); i++) {
		const struct tw_descriptor *d = tw_recording_descriptor_at(u->r, i);
		error = tw_demux_descriptors(u->demux, (const uint8_t *)d, d->bytes, &used);
	}
	u->described = tw_recording_described(u->r); /* with those that nothing ran, which no buffer needs */
	return error;
}

/* Those that the recording does not have come into it. */
static int take_uncoded(struct unspool *u)
{
	size_t n;
	uint64_t used;
	int error = tw_spool_read_described(u->spool, u->described, &u->uncoded, &n);
	if (!error)
		error = tw_demux_descriptors(u->demux, u->uncoded, n, &used);
	if (!error)
		error = tw_writer_descriptors(u->writer, u->uncoded, n);
	u->described += n;
	return error;
}

static int begin(struct unspool *u)
{
	int error = tw_recording_open(u->dir, &u->r);
	if (!error)
		error = tw_writer_append(u->dir_fd, u->r, &u->writer);
	if (error)
		return error;
	u->room = malloc(sizeof *u->room);
	u->demux = tw_demux_new(tw_recording_info(u->r)->format == TW_FORMAT_CALL);
	if (!u->room || !u->demux)
		return tw_fail(TW_ERR_MEMORY, TW_SPOOL_FILE);
	error = take_descriptors(u);
	if (!error)
		error = take_uncoded(u);
	if (!error)
		error = find(u);
	const struct tw_output_options options = {.writer = u->writer, .keep_refs = 1};
	return error ? error : tw_output_new(&options, &u->output);
}

/* Returns the error, or what failed while it was written. */
static int end(struct unspool *u, int error)
{
	struct tw_output_result result = {0};
	if (u->output) {
		tw_output_finish(u->output, &result);
		tw_output_free(u->output);
	}
	if (!error && result.failure[0])
		error = tw_fail(TW_ERR_SYSTEM, "%s", result.failure);
	struct tw_recording_info info = u->r ? *tw_recording_info(u->r) : (struct tw_recording_info){0};
	info.failure = (char *)"the recorder was killed";
	info.complete = 0;
	if (u->writer) {
		const int failed = tw_writer_close(u->writer, &info);
		error = error ? error : failed;
	}
	return error;
}

static int encode(struct unspool *u)
{
	int error = begin(u);
	for (size_t i = 0; !error && i < u->n_found; i++)
		error = take(u, &u->found[i]);
	error = end(u, error);
	tw_demux_free(u->demux);
	free(u->uncoded);
	tw_recording_close(u->r);
	free(u->room);
	free(u->found);
	free(u->thread);
	return error;
}

int tw_unspool(const char *dir, uint64_t *buffers, uint64_t *lost)
{
	struct unspool u = {.dir = dir};
	*buffers = *lost = 0;
	u.dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (u.dir_fd < 0)
		return TW_OK;
	int error = faccessat(u.dir_fd, TW_SPOOL_FILE, F_OK, 0) || flock(u.dir_fd, LOCK_EX | LOCK_NB) ? TW_ERR_MISSING
	                                                                                              : tw_spool_open(u.dir_fd, &u.spool);
	if (!error) {
		error = encode(&u);
		*buffers = u.buffers;
		*lost = u.lost;
		if (error)
			tw_spool_free(u.spool);
		else
			tw_spool_remove(u.spool);
	}
	close(u.dir_fd);
	return error == TW_ERR_MISSING ? TW_OK : error;
}

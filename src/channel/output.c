#include "channel/output.h"
#include "channel/demux.h"
#include "recording/recording.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Chunks between the two threads. Where more than half of them wait, compression takes the faster level. */
enum { JOBS = 8, LEVEL = 3, FAST_LEVEL = 1 };

struct tw_output {
	struct tw_output_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct tw_job job[JOBS];
	struct tw_job *unused;
	struct tw_job *first, **last; /* the queue */
	unsigned waiting;
	int ending;
	uint64_t descriptors_written;
	struct tw_output_result result;
};

/* ---- one chunk ---- */

static void fail(struct tw_output *o, int error)
{
	struct tw_output_result *r = &o->result;
	tw_failure_sentence(error, r->failure, sizeof r->failure);
	fprintf(stderr, "trackway: recording stopped, the program goes on: %s\n", r->failure);
	r->said = 1;
}

static int stores(const struct tw_output *o)
{
	return o->options.writer && !o->result.failure[0];
}

static void write_descriptors(struct tw_output *o, uint64_t end)
{
	uint64_t from = o->descriptors_written;
	if (end <= from)
		return;
	o->descriptors_written = end;
	if (!stores(o) || o->options.discard)
		return;
	int error = tw_writer_descriptors(o->options.writer, o->options.descriptors + from, end - from);
	if (error)
		fail(o, error);
}

static void write_module(struct tw_output *o, const struct tw_job *job, const void *payload)
{
	struct tw_map map;
	memcpy(&map, payload, sizeof map);
	struct tw_module module = {
	    .address = map.address,
	    .length = map.length,
	    .offset = map.offset,
	    .pid = job->thread.pid,
	    .prot = map.prot,
	    .thread = job->chunk.thread,
	    .sequence = job->chunk.sequence,
	    .path = (const char *)payload + sizeof map,
	};
	if (!module.path[0] || !stores(o))
		return;
	int error = tw_writer_module(o->options.writer, &module);
	if (error)
		fail(o, error);
}

/* Stores the modules among the events, takes the parent from THREAD_START, counts the gaps. */
static uint64_t look_at_events(struct tw_output *o, struct tw_job *job)
{
	uint64_t gaps = 0;
	size_t at = 0;
	for (const struct tw_event_header *h; (h = tw_demux_next_event(&job->chunk, &at));) {
		if (h->type == TW_EVENT_MAP)
			write_module(o, job, h + 1);
		else if (h->type == TW_EVENT_THREAD_START)
			job->thread.parent_tid = ((const struct tw_thread_start *)(h + 1))->parent_tid;
		else if (h->type == TW_EVENT_GAP)
			gaps++;
	}
	return gaps;
}

static void count(struct tw_output *o, const struct tw_chunk *c, uint64_t gaps)
{
	struct tw_totals *t = &o->result.totals;
	t->insns += c->insns;
	t->blocks += c->blocks;
	t->refs += c->refs;
	t->reads += c->reads;
	t->writes += c->writes;
	t->raw[TW_STREAM_C] += c->n_c * 2;
	t->raw[TW_STREAM_M] += c->n_m * 8;
	t->raw[TW_STREAM_E] += c->n_e;
	t->chunks++;
	t->gaps += gaps + (c->flags & TW_CHUNK_TORN);
	t->threads += c->sequence == 0;
}

static void do_job(struct tw_output *o, struct tw_job *job, int level)
{
	struct tw_output_options *opt = &o->options;
	write_descriptors(o, job->descriptors);
	uint64_t gaps = look_at_events(o, job);
	if (opt->check && opt->check(opt->check_context, &job->chunk))
		o->result.mismatch = 1;
	if (!opt->keep_refs)
		tw_demux_strip_refs(&job->chunk);
	count(o, &job->chunk, gaps);
	if (!stores(o) || opt->discard)
		return;
	int error = tw_writer_chunk(opt->writer, &job->thread, &job->chunk, gaps, level);
	if (error)
		fail(o, error);
}

void tw_output_add(struct tw_output *o, const struct tw_totals *totals)
{
	struct tw_totals *t = &o->result.totals;
	pthread_mutex_lock(&o->lock);
	t->insns += totals->insns;
	t->blocks += totals->blocks;
	t->refs += totals->refs;
	t->reads += totals->reads;
	t->writes += totals->writes;
	for (int i = 0; i < TW_NSTREAMS; i++)
		t->raw[i] += totals->raw[i];
	pthread_mutex_unlock(&o->lock);
}

/* ---- the queue ---- */

static void *run(void *arg)
{
	struct tw_output *o = arg;
	pthread_mutex_lock(&o->lock);
	for (;;) {
		while (!o->first && !o->ending)
			pthread_cond_wait(&o->changed, &o->lock);
		struct tw_job *job = o->first;
		if (!job)
			break;
		o->first = job->next;
		if (!o->first)
			o->last = &o->first;
		int level = o->waiting-- > JOBS / 2 ? FAST_LEVEL : LEVEL;
		pthread_mutex_unlock(&o->lock);
		do_job(o, job, level);
		tw_output_drop(o, job);
		pthread_mutex_lock(&o->lock);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

struct tw_job *tw_output_take(struct tw_output *o)
{
	pthread_mutex_lock(&o->lock);
	while (!o->unused)
		pthread_cond_wait(&o->changed, &o->lock);
	struct tw_job *job = o->unused;
	o->unused = job->next;
	pthread_mutex_unlock(&o->lock);
	return job;
}

void tw_output_put(struct tw_output *o, struct tw_job *job)
{
	pthread_mutex_lock(&o->lock);
	job->next = NULL;
	*o->last = job;
	o->last = &job->next;
	o->waiting++;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
}

void tw_output_drop(struct tw_output *o, struct tw_job *job)
{
	pthread_mutex_lock(&o->lock);
	job->next = o->unused;
	o->unused = job;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
}

/* ---- starting and ending ---- */

static void free_output(struct tw_output *o)
{
	for (int i = 0; i < JOBS; i++)
		tw_chunk_release(&o->job[i].chunk);
	pthread_mutex_destroy(&o->lock);
	pthread_cond_destroy(&o->changed);
	free(o);
}

static int make_jobs(struct tw_output *o)
{
	for (int i = 0; i < JOBS; i++) {
		struct tw_job *job = &o->job[i];
		job->chunk.c = malloc(TW_DEMUX_C * sizeof *job->chunk.c);
		job->chunk.m = malloc(TW_DEMUX_M * sizeof *job->chunk.m);
		job->chunk.e = malloc(TW_DEMUX_E);
		if (!job->chunk.c || !job->chunk.m || !job->chunk.e)
			return tw_fail(TW_ERR_MEMORY, "chunks");
		job->next = o->unused;
		o->unused = job;
	}
	return TW_OK;
}

int tw_output_new(const struct tw_output_options *options, struct tw_output **out)
{
	struct tw_output *o = calloc(1, sizeof *o);
	if (!o)
		return tw_fail(TW_ERR_MEMORY, "output");
	o->options = *options;
	o->last = &o->first;
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->changed, NULL);
	int error = make_jobs(o);
	int why = error ? 0 : pthread_create(&o->thread, NULL, run, o);
	if (why)
		error = tw_fail(TW_ERR_SYSTEM, "thread: %s", strerror(why));
	if (error) {
		free_output(o);
		return error;
	}
	*out = o;
	return TW_OK;
}

void tw_output_finish(struct tw_output *o, uint64_t descriptors, struct tw_output_result *result)
{
	pthread_mutex_lock(&o->lock);
	o->ending = 1;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
	pthread_join(o->thread, NULL);
	write_descriptors(o, descriptors);
	if (o->options.writer) {
		const struct tw_totals *written = tw_writer_totals(o->options.writer);
		memcpy(o->result.totals.stored, written->stored, sizeof written->stored);
		o->result.totals.code_raw = written->code_raw;
		o->result.totals.code_stored = written->code_stored;
	}
	*result = o->result;
	free_output(o);
}

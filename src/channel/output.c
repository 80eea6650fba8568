#include "channel/output.h"
#include "base/zeros.h"
#include "channel/feed.h"
#include "channel/machine.h"
#include "channel/output_jobs.h"
#include "channel/output_lane.h"
#include "channel/output_queue.h"
#include "channel/output_share.h"
#include "channel/output_space.h"
#include "channel/output_state.h"
#include "channel/output_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the ring ---- */

/* Are all chunks that have been begun dealt with? Under the lock. */
static int is_idle(const struct tw_output *o)
{
	for (size_t i = 0; i < o->n_order; i++)
		if (o->order[i].begun != o->order[i].done)
			return 0;
	return 1;
}

void tw_output_keep(struct tw_output *o)
{
	const struct timespec until = tw_machine_deadline(1000);
	pthread_mutex_lock(&o->lock);
	tw_output_end_feeding(o);
	while (!is_idle(o) && !pthread_cond_timedwait(&o->written, &o->lock, &until))
		;
	pthread_mutex_unlock(&o->lock);
	tw_output_write_ring(o);
}

/* Dropped chunks are not in the recording: its totals are those of what was written. */
static void count_kept(struct tw_output *o)
{
	const uint64_t written = o->result.totals.written, described = o->result.totals.fragments;
	const uint64_t insns = o->result.totals.insns;
	o->result.totals = *tw_writer_totals(o->options.writer);
	o->result.dropped = insns - o->result.totals.insns;
	o->result.totals.written = written;
	o->result.totals.fragments = described;
}

/* ---- the feed ---- */

static void *take_returns(void *arg)
{
	struct tw_output *o = arg;
	for (int job; (job = tw_feed_returned(o->options.feed)) >= 0;) {
		if (atomic_exchange(&o->job[job].fed, 0))
			tw_output_drop(o, &o->job[job]);
	}
	for (unsigned i = 0; i < o->n_jobs; i++)
		if (atomic_exchange(&o->job[i].fed, 0))
			tw_output_drop(o, &o->job[i]);
	return NULL;
}

uint64_t tw_output_put_so_far(const struct tw_output *o)
{
	return o->n_put;
}

int tw_output_is_done(struct tw_output *o, uint64_t put)
{
	int done = 1;
	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; i < o->n_jobs; i++)
		done &= !o->job[i].put || o->job[i].put > put;
	pthread_mutex_unlock(&o->lock);
	return done;
}

/* From here on no chunk is written: a chunk without one of its buffers must not be, since written ones are not encoded again. */
void tw_output_abandon(struct tw_output *o)
{
	struct tw_output_result *r = &o->result;
	pthread_mutex_lock(&o->writing);
	tw_output_write_up_to(o, atomic_load(&o->all_described));
	if (!atomic_exchange(&o->failed, 1)) {
		snprintf(r->failure, sizeof r->failure, "encoding was interrupted; the next command that reads the recording continues it");
		r->abandoned = 1;
	}
	atomic_store(&o->abandoned, 1);
	pthread_mutex_unlock(&o->writing);
}

uint64_t tw_output_settle(struct tw_output *o, unsigned ms)
{
	const struct timespec until = tw_machine_deadline(ms);
	tw_output_hasten(o);
	pthread_mutex_lock(&o->lock);
	tw_output_run_all(o);
	tw_output_begin_sharing(o);
	tw_output_end_feeding(o);
	while (o->waiting_bytes && !pthread_cond_timedwait(&o->written, &o->lock, &until))
		;
	const uint64_t waiting = o->waiting_bytes;
	pthread_mutex_unlock(&o->lock);
	return waiting;
}

void tw_output_waiting(struct tw_output *o, uint64_t *put, uint64_t *waiting)
{
	pthread_mutex_lock(&o->lock);
	*put = o->put_bytes;
	*waiting = o->waiting_bytes;
	pthread_mutex_unlock(&o->lock);
}

void tw_output_progress(struct tw_output *o, struct tw_totals *so_far, uint64_t *stored)
{
	*stored = 0;
	pthread_mutex_lock(&o->lock);
	*so_far = o->result.totals;
	pthread_mutex_unlock(&o->lock);
	if (!o->options.writer)
		return;
	pthread_mutex_lock(&o->writing);
	const struct tw_totals *t = tw_writer_totals(o->options.writer);
	*stored = t->stored[TW_STREAM_C] + t->stored[TW_STREAM_M] + t->stored[TW_STREAM_E] + t->code_stored;
	pthread_mutex_unlock(&o->writing);
}

void tw_output_add(struct tw_output *o, const struct tw_totals *totals)
{
	struct tw_totals *t = &o->result.totals;
	pthread_mutex_lock(&o->lock);
	t->written += totals->written;
	t->uncounted += totals->uncounted;
	t->insns += totals->insns;
	t->blocks += totals->blocks;
	t->refs += totals->refs;
	t->reads += totals->reads;
	t->writes += totals->writes;
	for (int i = 0; i < TW_NSTREAMS; i++)
		t->raw[i] += totals->raw[i];
	pthread_mutex_unlock(&o->lock);
}

/* ---- starting and ending ---- */

void tw_output_free(struct tw_output *o)
{
	for (unsigned i = 0; i < o->n_jobs && !o->options.feed; i++)
		tw_chunk_release(&o->job[i].chunk);
	tw_zeros_free(o->job, o->job_bytes);
	tw_output_free_places(o);
	for (unsigned i = 0; i < o->n_lanes; i++)
		pthread_cond_destroy(&o->lane[i].fed_more);
	pthread_mutex_destroy(&o->lock);
	pthread_mutex_destroy(&o->writing);
	pthread_cond_destroy(&o->freed);
	pthread_cond_destroy(&o->written);
	pthread_cond_destroy(&o->rests);
	for (struct tw_descriptor_piece *p; (p = o->pieces); free(p))
		o->pieces = p->next;
	free(o->order);
	tw_ring_free(o->ring);
	free(o);
}

static void end_lanes(struct tw_output *o)
{
	tw_output_hasten(o);
	pthread_mutex_lock(&o->lock);
	o->ending = 1;
	tw_output_run_all(o);
	for (unsigned i = 0; i < o->n_lanes; i++)
		pthread_cond_signal(&o->lane[i].fed_more);
	pthread_mutex_unlock(&o->lock);
	for (unsigned i = 0; i < o->n_lanes; i++)
		pthread_join(o->lane[i].thread, NULL);
}

/* What there should be for each, where memory is limited. */
enum { LANE_MEMORY = 256 << 20 };

/* A check needs the buffers of a thread in order, and without storing there is little to do: then there is one lane. */
static unsigned count_lanes(const struct tw_output_options *opt)
{
	const uint64_t most = tw_machine_memory() / LANE_MEMORY;
	return opt->check || !opt->writer || opt->discard || !most ? 1 : most < TW_OUTPUT_LANES ? (unsigned)most : TW_OUTPUT_LANES;
}

int tw_output_new(const struct tw_output_options *options, struct tw_output **out)
{
	struct tw_output *o = calloc(1, sizeof *o);
	if (!o)
		return tw_fail(TW_ERR_MEMORY, "output");
	o->options = *options;
	pthread_mutex_init(&o->lock, NULL);
	pthread_mutex_init(&o->writing, NULL);
	pthread_cond_init(&o->freed, NULL);
	pthread_cond_init(&o->written, NULL);
	pthread_cond_init(&o->rests, NULL);
	o->spool = options->spool;
	o->yields = options->yields;
	o->makes_way = o->spool != NULL;
	o->processors = o->most_running = o->spool ? tw_machine_processors() : TW_OUTPUT_LANES;
	const int is_ring = options->writer && !options->discard && (options->ring.bytes || options->ring.ns);
	o->ring = is_ring ? tw_ring_new(&options->ring) : NULL;
	int error = is_ring && !o->ring ? tw_fail(TW_ERR_MEMORY, "--ring") : tw_output_make_jobs(o);
	o->most_lanes = count_lanes(options);
	tw_output_space_begin(o);
	if (!error && o->options.feed) {
		int why = pthread_create(&o->returns, NULL, take_returns, o);
		error = why ? tw_fail(TW_ERR_SYSTEM, "thread: %s", strerror(why)) : TW_OK;
	}
	if (error) {
		tw_output_free(o);
		return error;
	}
	*out = o;
	return TW_OK;
}

/* Waits until all buffers are back. */
static void end_feed(struct tw_output *o)
{
	if (!o->options.feed)
		return;
	pthread_mutex_lock(&o->lock);
	for (unsigned i = 0; i < o->n_jobs; i++)
		while (o->job[i].fed)
			pthread_cond_wait(&o->freed, &o->lock);
	pthread_mutex_unlock(&o->lock);
	tw_feed_all_returned(o->options.feed);
	pthread_join(o->returns, NULL);
}

void tw_output_finish(struct tw_output *o, struct tw_output_result *result)
{
	if (o->has_scribe)
		pthread_join(o->scribe, NULL);
	end_lanes(o);
	end_feed(o);
	tw_output_write_up_to(o, o->described);
	tw_output_write_ring(o);
	if (o->ring)
		count_kept(o);
	if (o->options.writer) {
		const struct tw_totals *written = tw_writer_totals(o->options.writer);
		memcpy(o->result.totals.coded, written->coded, sizeof written->coded);
		memcpy(o->result.totals.stored, written->stored, sizeof written->stored);
		o->result.totals.code_raw = written->code_raw;
		o->result.totals.code_stored = written->code_stored;
	}
	*result = o->result;
}

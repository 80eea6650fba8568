#include "channel/output_queue.h"
#include "channel/feed.h"
#include "channel/machine.h"
#include "channel/output_jobs.h"
#include "channel/output_lane.h"
#include "channel/output_space.h"
#include "channel/output_state.h"
#include "channel/output_told.h"
#include "channel/output_write.h"
#include "channel/spool.h"
#include "base/array.h"

#include <stdlib.h>

struct tw_job *tw_output_take(struct tw_output *o)
{
	pthread_mutex_lock(&o->lock);
	while (!o->unused && !tw_output_add_job(o)) {
		if (o->spool) { /* slots are free when chunks are done */
			tw_output_end_feeding(o);
			tw_output_run_all(o);
		}
		pthread_cond_wait(&o->freed, &o->lock);
	}
	struct tw_job *job = o->unused;
	o->unused = job->next;
	job->holders = 1;
	pthread_mutex_unlock(&o->lock);
	return job;
}

/* Each has memory of its own: if buffers wait in a spool, no more lanes are fed while one of these is idle. */
static unsigned few_lanes(const struct tw_output *o)
{
	return o->spool ? o->processors + 1 : o->most_lanes;
}

/* The least busy of the existing lanes that are not fed, otherwise the one fed least recently; NULL: there is none. */
static struct tw_lane *least_busy(struct tw_output *o)
{
	struct tw_lane *best = NULL;
	for (struct tw_lane *l = o->lane; l < o->lane + o->n_lanes; l++) {
		if (best && !best->feeding && l >= o->lane + few_lanes(o))
			break;
		if (!best || !l->feeding > !best->feeding)
			best = l;
		else if (!l->feeding == !best->feeding && (l->feeding ? l->used < best->used : l->busy < best->busy))
			best = l;
	}
	return best;
}

/* The lane for a new chunk: an idle one, otherwise another one, as far as permitted. NULL: there is none. */
static struct tw_lane *choose_lane(struct tw_output *o)
{
	struct tw_lane *best = least_busy(o);
	const int idle = best && !best->feeding && (!best->busy || o->n_lanes >= few_lanes(o));
	if (!idle && o->n_lanes < o->most_lanes && !tw_output_lane_start(o, 0))
		return &o->lane[o->n_lanes - 1];
	return best;
}

/* Where the next buffer of thread `serial` goes; NULL: see above. Called under the lock. */
static struct tw_lane *lane_for(struct tw_output *o, uint32_t serial)
{
	for (struct tw_lane *l = o->lane; l < o->lane + o->n_lanes; l++)
		if (l->feeding && l->serial == serial)
			return l;
	struct tw_lane *l = choose_lane(o);
	if (!l)
		return NULL;
	l->feeding = ++o->last_id ? o->last_id : ++o->last_id;
	l->serial = serial;
	l->fed = 0;
	l->since = tw_machine_ns();
	o->order[serial].begun++;
	return l;
}

static int take_order(struct tw_output *o, uint32_t serial)
{
	struct tw_chunk_order *order = tw_array_zeros(o->order, serial, &o->n_order, sizeof *order);
	if (!order)
		return tw_fail(TW_ERR_MEMORY, "thread %u", serial);
	o->order = order;
	return TW_OK;
}

/*
 * Number of buffers of the thread that have about MOST_TAGS tags, according to its chunks so far. All tags of a chunk
 * are in memory while it is encoded, for each working lane.
 */
static unsigned few_tags(const struct tw_chunk_order *order)
{
	enum { MOST_TAGS = 6 << 20 };
	const uint64_t n = order->tags ? MOST_TAGS * order->buffers / order->tags : TW_CHUNK_BUFFERS;
	return n < TW_FIRST_BUFFERS ? TW_FIRST_BUFFERS : n < TW_CHUNK_BUFFERS ? (unsigned)n : TW_CHUNK_BUFFERS;
}

/*
 * Number of buffers for the chunk. A short program has only few of them, and its lanes, one for each chunk, should
 * have equal work: so two chunks are short, the next two twice as long.
 */
static unsigned most_fed(const struct tw_output *o, uint32_t serial, uint32_t sequence)
{
	if (o->options.discard || !o->options.writer)
		return 1;
	if (o->ring)
		return TW_RING_BUFFERS;
	const unsigned twice = sequence / 2, first = twice < 8 ? (unsigned)TW_FIRST_BUFFERS << twice : TW_CHUNK_BUFFERS,
	               most = few_tags(&o->order[serial]);
	return first < most ? first : most;
}

/* Adds a job to the chunk it belongs to, perhaps the last one of it. Called under the lock. */
static void enqueue(struct tw_output *o, struct tw_lane *l, struct tw_job *job)
{
	job->next = NULL;
	*l->last = job;
	l->last = &job->next;
	l->busy++;
	l->used = job->put = ++o->n_put;
	o->unwritten += job->bytes;
	if (++l->fed >= most_fed(o, job->chunk.thread, job->chunk.sequence) || (job->chunk.flags & (TW_CHUNK_LAST | TW_CHUNK_TORN)))
		l->feeding = 0;
	pthread_cond_signal(&l->fed_more);
}

void tw_output_tell_thread(struct tw_output *o, const struct tw_thread_info *thread)
{
	if (o->options.feed)
		tw_feed_thread(o->options.feed, thread);
}

void tw_output_thread_ends(struct tw_output *o, uint32_t serial)
{
	pthread_mutex_lock(&o->lock);
	for (struct tw_lane *l = o->lane; l < o->lane + o->n_lanes; l++) {
		if (l->feeding && l->serial == serial) {
			l->feeding = 0;
			pthread_cond_signal(&l->fed_more);
		}
	}
	pthread_mutex_unlock(&o->lock);
}

void tw_output_make_way(struct tw_output *o, unsigned threads)
{
	pthread_mutex_lock(&o->lock);
	if (o->makes_way) {
		o->most_running = threads < o->processors ? o->processors - threads : 1;
		pthread_cond_broadcast(&o->rests);
	}
	pthread_mutex_unlock(&o->lock);
}

void tw_output_age(struct tw_output *o)
{
	uint64_t now = tw_machine_ns();
	tw_output_write_new_descriptors(o);
	pthread_mutex_lock(&o->lock);
	for (struct tw_lane *l = o->lane; l < o->lane + o->n_lanes; l++) {
		if (l->feeding && now - l->since > TW_CHUNK_NS) {
			l->feeding = 0;
			pthread_cond_signal(&l->fed_more);
		}
	}
	pthread_mutex_unlock(&o->lock);
}

static void *write_descriptors(void *output)
{
	tw_output_write_new_descriptors(output);
	return NULL;
}

void tw_output_prepare(struct tw_output *o)
{
	enum { MANY = 64 << 10 };
	if (o->is_prepared || !o->spool || o->described < MANY)
		return;
	o->is_prepared = 1;
	o->has_scribe = !pthread_create(&o->scribe, NULL, write_descriptors, o);
	pthread_mutex_lock(&o->lock);
	if (!o->n_lanes)
		tw_output_lane_start(o, 1);
	pthread_mutex_unlock(&o->lock);
}

/* Gives the job to the feed too. Both have it then. */
static void feed_job(struct tw_output *o, struct tw_job *job)
{
	if (!o->options.feed)
		return;
	job->holders = 2;
	atomic_store(&job->fed, 1);
	if (!tw_feed_chunk(o->options.feed, (unsigned)(job - o->job), &job->chunk, &job->thread) && atomic_exchange(&job->fed, 0))
		tw_output_drop(o, job);
}

int tw_output_resume(struct tw_output *o, uint32_t serial, uint32_t chunks, const struct tw_totals *before)
{
	pthread_mutex_lock(&o->lock);
	int error = take_order(o, serial);
	if (!error)
		o->order[serial] = (struct tw_chunk_order){
		    .begun = chunks, .done = chunks, .insns = before->insns, .blocks = before->blocks, .refs = before->refs};
	pthread_mutex_unlock(&o->lock);
	return error;
}

/* The lane for the job, and the chunk. NULL: no memory or no thread, and the job is gone. */
static struct tw_lane *assign(struct tw_output *o, struct tw_job *job)
{
	struct tw_lane *l = NULL;
	job->descriptors = o->described;
	pthread_mutex_lock(&o->lock);
	int error = take_order(o, job->chunk.thread);
	if (!error) {
		l = lane_for(o, job->chunk.thread);
		error = l ? TW_OK : TW_ERR_SYSTEM;
	}
	if (l) {
		job->id = l->feeding;
		job->chunk.sequence = o->order[job->chunk.thread].begun - 1;
	}
	pthread_mutex_unlock(&o->lock);
	if (error) {
		tw_output_fail(o, error);
		tw_output_drop(o, job);
	}
	return l;
}

void tw_output_put(struct tw_output *o, struct tw_job *job)
{
	job->bytes = (uint32_t)(job->chunk.n_c * sizeof *job->chunk.c + job->chunk.n_m * sizeof *job->chunk.m + job->chunk.n_e);
	tw_output_space_look(o, job->bytes);
	struct tw_lane *l = assign(o, job);
	if (!l)
		return;
	tw_output_look_at_events(o, job);
	feed_job(o, job);
	pthread_mutex_lock(&o->lock);
	enqueue(o, l, job);
	pthread_mutex_unlock(&o->lock);
}

/* The job's slot is not used again. */
static void retire(struct tw_output *o, struct tw_job *job)
{
	pthread_mutex_lock(&o->lock);
	job->unused_for_good = 1;
	o->most_jobs = o->n_jobs;
	o->lost++;
	pthread_mutex_unlock(&o->lock);
}

/* Would the buffer make the spool grow, on a full disk, while there is a slot that it fits? */
static int fits_another(const struct tw_output *o, const struct tw_job *job, uint32_t bytes)
{
	if (!atomic_load(&o->full) || job->slot_bytes >= bytes)
		return 0;
	for (unsigned i = 0; i < o->n_jobs; i++)
		if (!o->job[i].unused_for_good && o->job[i].slot_bytes >= bytes)
			return 1;
	return 0;
}

/* A slot with the buffer in it. Those that cannot be written, since the disk is full, are not tried again. NULL: there is no other. */
static struct tw_job *write_slot(struct tw_output *o, const struct tw_demux_input *in, const struct tw_far_buffer *far)
{
	const uint32_t bytes = in->bytes + in->slack_end;
	while (o->lost < o->most_jobs) {
		struct tw_job *job = tw_output_take(o);
		if (fits_another(o, job, bytes)) {
			retire(o, job);
			continue;
		}
		int error = tw_spool_write(o->spool, (unsigned)(job - o->job), in, far);
		if (!error) {
			job->slot_bytes = job->slot_bytes > bytes ? job->slot_bytes : bytes;
			return job;
		}
		retire(o, job);
		if (o->lost == o->most_jobs)
			tw_output_fail(o, error);
	}
	return NULL;
}

void tw_output_spool(struct tw_output *o, const struct tw_output_buffer *buffer, const struct tw_demux_input *in)
{
	tw_output_space_look(o, (uint64_t)in->bytes + in->slack_end);
	struct tw_job *job = write_slot(o, in, buffer->far);
	if (!job)
		return;
	job->chunk = (struct tw_chunk){.thread = buffer->thread.serial, .flags = buffer->flags};
	job->thread = buffer->thread;
	job->dead = buffer->dead;
	job->wait_status = buffer->wait_status;
	job->bytes = in->bytes;
	job->slack_end = in->slack_end;
	job->spooled = 1;
	job->looked = 0;
	job->later = NULL;
	struct tw_lane *l = assign(o, job);
	if (!l)
		return;
	job->put = o->n_put + 1;
	if (!tw_spool_write_described(o->spool, atomic_load(&o->coded)))
		tw_output_write_descriptors(o);
	int error = tw_output_write_head(o, job);
	if (error)
		tw_output_fail(o, error);
	pthread_mutex_lock(&o->lock);
	job->holders = 2;
	*(o->earliest ? &o->latest->later : &o->earliest) = job;
	o->latest = job;
	o->put_bytes += job->bytes;
	o->waiting_bytes += job->bytes;
	enqueue(o, l, job);
	pthread_mutex_unlock(&o->lock);
}

#include "channel/output_lane.h"
#include "base/helper_thread.h"
#include "channel/demux.h"
#include "channel/machine.h"
#include "channel/output_jobs.h"
#include "channel/output_share.h"
#include "channel/output_state.h"
#include "channel/output_told.h"
#include "channel/output_write.h"
#include "channel/ring.h"
#include "channel/spool.h"
#include "recording/transform.h"

#include <stdlib.h>
#include <string.h>

/*
 * Compression level. 3 takes 0.2 (python3) to 6 % (perl) fewer bytes, and for a short program's whole recording 3 to
 * 12 % more processor time.
 */
enum { LEVEL = 1 };

static void count(const struct tw_lane *l, const struct tw_job *job)
{
	struct tw_output *o = l->o;
	const struct tw_chunk *c = &job->chunk;
	struct tw_totals *t = &o->result.totals;
	pthread_mutex_lock(&o->lock);
	t->insns += c->insns;
	t->blocks += c->blocks;
	t->refs += c->refs;
	t->reads += c->reads;
	t->writes += c->writes;
	t->raw[TW_STREAM_C] += c->n_c * 2;
	t->raw[TW_STREAM_M] += c->n_m * 8;
	t->raw[TW_STREAM_E] += c->n_e;
	t->gaps += job->events.gaps;
	tw_totals_end(t, !c->sequence && !l->pieces, c->flags);
	t->stamps += job->events.stamps;
	pthread_mutex_unlock(&o->lock);
}

/* ---- workplaces ---- */

static void free_place(struct tw_workplace *p)
{
	if (!p)
		return;
	tw_packer_free(p->packer);
	tw_chunk_release(&p->apart);
	free(p->room);
	free(p);
}

void tw_output_free_places(struct tw_output *o)
{
	for (struct tw_workplace *p; (p = o->places); free_place(p))
		o->places = p->next;
	while (o->n_encoders)
		tw_encoder_free(o->encoder[--o->n_encoders]);
}

static struct tw_workplace *new_place(struct tw_output *o)
{
	const int stores = o->options.writer && !o->options.discard;
	struct tw_workplace *p = calloc(1, sizeof *p);
	if (p && stores)
		p->packer = tw_writer_packer(o->options.writer);
	if (p && (!stores || p->packer))
		return p;
	free_place(p);
	return NULL;
}

/* Under the lock. */
static void give_place_back(struct tw_lane *l)
{
	struct tw_output *o = l->o;
	if (!l->place)
		return;
	l->place->next = o->places;
	o->places = l->place;
	l->place = NULL;
}

/*
 * The place's packer gets the most recently used encoder: most of that is still in the caches. If there is none, a
 * new packer has its own.
 */
static int take_encoder(struct tw_output *o, struct tw_workplace *p, int is_new)
{
	struct tw_encoder *e = NULL;
	if (!p->packer)
		return TW_OK;
	pthread_mutex_lock(&o->lock);
	if (o->n_encoders)
		e = o->encoder[--o->n_encoders];
	pthread_mutex_unlock(&o->lock);
	if (!e && is_new)
		return TW_OK;
	if (!e)
		e = tw_writer_encoder(o->options.writer);
	tw_packer_give_encoder(p->packer, e);
	return e ? TW_OK : TW_ERR_MEMORY;
}

static void take_place(struct tw_lane *l)
{
	struct tw_output *o = l->o;
	pthread_mutex_lock(&o->lock);
	struct tw_workplace *p = o->places;
	const int is_new = !p;
	if (p)
		o->places = p->next;
	pthread_mutex_unlock(&o->lock);
	if (is_new)
		p = new_place(o);
	if (p && take_encoder(o, p, is_new)) {
		free_place(p);
		p = NULL;
	}
	if (!p)
		tw_output_fail(o, tw_fail(TW_ERR_MEMORY, "packer"));
	l->place = p;
}

/* The chunk is packed: another one can be encoded while it waits to be written. */
static void give_encoder_back(struct tw_lane *l)
{
	struct tw_output *o = l->o;
	struct tw_encoder *e = tw_packer_take_encoder(l->place->packer);
	pthread_mutex_lock(&o->lock);
	if (o->n_encoders < TW_OUTPUT_LANES) {
		o->encoder[o->n_encoders++] = e;
		e = NULL;
	}
	pthread_mutex_unlock(&o->lock);
	tw_encoder_free(e);
}

static struct tw_packer *packer_of(const struct tw_lane *l)
{
	return l->place ? l->place->packer : NULL;
}

/* ---- buffers ---- */

static int take_room(struct tw_workplace *p)
{
	if (!p)
		return tw_fail(TW_ERR_MEMORY, "a buffer");
	struct tw_chunk *c = &p->apart;
	if (p->room && c->e)
		return TW_OK;
	p->room = p->room ? p->room : malloc(sizeof *p->room);
	c->c = c->c ? c->c : malloc(TW_DEMUX_C * sizeof *c->c);
	c->m = c->m ? c->m : malloc(TW_DEMUX_M * sizeof *c->m);
	c->e = c->c && c->m ? malloc(TW_DEMUX_E) : NULL;
	return p->room && c->e ? TW_OK : tw_fail(TW_ERR_MEMORY, "a buffer");
}

/* A buffer in which nothing makes sense is a gap. */
static void put_gap(struct tw_chunk *c)
{
	static const char why[] = "what a thread has written makes no sense";
	struct {
		struct tw_event_header keyframe_head;
		struct tw_keyframe keyframe;
		struct tw_event_header head;
		struct tw_gap gap;
		char text[(sizeof why + 7) / 8 * 8];
	} events = {.keyframe_head = {TW_TAG_EVENT, TW_EVENT_KEYFRAME, sizeof events.keyframe},
	            .head = {TW_TAG_EVENT, TW_EVENT_GAP, sizeof events.gap + sizeof why},
	            .gap = {.kind = TW_GAP_STRETCH}};
	memcpy(events.text, why, sizeof why);
	memcpy(c->e, &events, sizeof events);
	c->n_e = sizeof events;
	c->c[0] = c->c[1] = TW_TAG_EVENT;
	c->n_c = 2;
}

/* Converts the job's slot to its chunk, in memory of the lane, and encodes it on the way if it is to be stored. */
static int take_apart(struct tw_lane *l, struct tw_job *job)
{
	struct tw_output *o = l->o;
	struct tw_chunk *c = &job->chunk;
	struct tw_demux_input in;
	int error = take_room(l->place);
	if (!error)
		error = tw_spool_read(o->spool, (unsigned)(job - o->job), job->bytes, job->slack_end, l->place->room, &in);
	if (error)
		return error;
	c->c = l->place->apart.c;
	c->m = l->place->apart.m;
	c->e = l->place->apart.e;
	pthread_mutex_lock(&o->lock);
	c->first_insn = o->order[c->thread].insns + l->sums.insns;
	c->first_block = o->order[c->thread].blocks + l->sums.blocks;
	c->first_ref = o->order[c->thread].refs + l->sums.refs;
	pthread_mutex_unlock(&o->lock);
	l->encoded = packer_of(l) && tw_output_keeps(o, l->open) && !o->options.check;
	error = l->encoded ? tw_demux_encode(o->options.demux, &in, c, tw_packer_encoder(packer_of(l)))
	                   : tw_demux_buffer(o->options.demux, &in, c);
	if (!c->n_c) {
		l->encoded = 0;
		put_gap(c);
	}
	l->sums.insns += c->insns;
	l->sums.blocks += c->blocks;
	l->sums.refs += c->refs;
	return error;
}

/* 0: nothing can be made of it. */
static int unspool(struct tw_lane *l, struct tw_job *job)
{
	struct tw_output *o = l->o;
	int error = take_apart(l, job);
	const int is_there = job->chunk.c != NULL;
	if (is_there && error && error != TW_ERR_MEMORY) {
		job->chunk.flags |= TW_CHUNK_TORN;
		tw_output_note_odd(o, error);
	} else if (error) {
		tw_output_fail(o, error);
	}
	if (is_there)
		tw_output_look_at_events(o, job);
	tw_output_has_looked(o, job);
	tw_output_write_new_descriptors(o);
	return is_there;
}

static void do_job(struct tw_lane *l, struct tw_job *job)
{
	struct tw_output *o = l->o;
	struct tw_output_options *opt = &o->options;
	if (job->spooled && atomic_load(&o->abandoned)) {
		tw_output_has_looked(o, job);
		return;
	}
	if (job->spooled && !unspool(l, job))
		return;
	if (opt->check && opt->check(opt->check_context, &job->chunk))
		o->result.mismatch = 1; /* there is but one lane */
	if (opt->check && !opt->keep_refs)
		tw_demux_strip_refs(&job->chunk);
	count(l, job);
	if (o->ring && job->chunk.insns)
		l->ran = tw_machine_ns();
	l->descriptors = job->descriptors;
	l->tags += job->chunk.n_c;
	l->pieces++;
	if (!packer_of(l) || !tw_output_keeps(o, l->open))
		return;
	struct tw_chunk piece = job->chunk;
	if (job->spooled && l->encoded)
		piece.n_c = piece.n_m = piece.n_e = 0;
	int error = tw_packer_add(packer_of(l), &job->thread, &piece, &job->events);
	if (error)
		tw_output_fail(o, error);
}

static void open_chunk(struct tw_lane *l, const struct tw_job *job)
{
	l->open = job->id;
	l->open_serial = job->chunk.thread;
	l->open_sequence = job->chunk.sequence;
	l->pieces = 0;
	l->sums = (struct tw_totals){0};
	l->ran = l->bytes = l->tags = 0;
	take_place(l);
	if (packer_of(l))
		tw_packer_begin(packer_of(l), l->open_serial);
}

/* With a spool only a limited number of lanes work at a time (tw_output_make_way), each until its chunk is done. Under the lock. */
static void work(struct tw_lane *l)
{
	struct tw_output *o = l->o;
	while (!l->running && o->n_running >= o->most_running)
		pthread_cond_wait(&o->rests, &o->lock);
	o->n_running += !l->running;
	l->running = 1;
}

static void rest_locked(struct tw_lane *l)
{
	struct tw_output *o = l->o;
	o->n_running -= l->running;
	if (l->running)
		pthread_cond_signal(&o->rests);
	l->running = 0;
}

static void rest(struct tw_lane *l)
{
	pthread_mutex_lock(&l->o->lock);
	rest_locked(l);
	pthread_mutex_unlock(&l->o->lock);
}

/* Chunks of a thread are written in order. They are also started in order, and lanes work in the order of starts, so this ends. */
static struct tw_chunk_order wait_for_turn(struct tw_lane *l)
{
	struct tw_output *o = l->o;
	pthread_mutex_lock(&o->lock);
	while (o->order[l->open_serial].done != l->open_sequence)
		pthread_cond_wait(&o->written, &o->lock);
	const struct tw_chunk_order order = o->order[l->open_serial];
	pthread_mutex_unlock(&o->lock);
	return order;
}

/* Under `writing`. */
static void note_taken(struct tw_output *o)
{
	const struct tw_totals *t = tw_writer_totals(o->options.writer);
	atomic_store(&o->taken, t->stored[TW_STREAM_C] + t->stored[TW_STREAM_M] + t->stored[TW_STREAM_E] + t->code_stored);
}

static void write_chunk(struct tw_lane *l)
{
	struct tw_output *o = l->o;
	struct tw_packer *packer = packer_of(l);
	const int keeps = tw_output_keeps(o, l->open);
	int error = keeps ? tw_packer_end(packer, LEVEL) : TW_OK;
	give_encoder_back(l);
	rest(l);
	const struct tw_chunk_order before = wait_for_turn(l);
	if (o->spool && !error)
		tw_packer_follow(packer, before.insns, before.blocks, before.refs);
	pthread_mutex_lock(&o->writing);
	if (keeps)
		tw_output_write_up_to(o, l->descriptors);
	if (!error && keeps && o->ring)
		error = tw_ring_add(o->ring, tw_packer_packed(packer), l->ran);
	else if (!error && keeps && tw_output_stores(o))
		error = tw_writer_packed(o->options.writer, tw_packer_packed(packer));
	note_taken(o);
	if (error)
		tw_output_fail(o, error);
	pthread_mutex_unlock(&o->writing);
}

static void close_chunk(struct tw_lane *l)
{
	struct tw_output *o = l->o;
	if (packer_of(l))
		write_chunk(l);
	else
		wait_for_turn(l);
	pthread_mutex_lock(&o->lock);
	struct tw_chunk_order *order = &o->order[l->open_serial];
	order->done++;
	order->insns += l->sums.insns;
	order->blocks += l->sums.blocks;
	order->refs += l->sums.refs;
	order->buffers += l->pieces;
	order->tags += l->tags;
	for (struct tw_job *job; (job = l->held);) {
		l->held = job->next;
		o->waiting_bytes -= job->bytes;
		tw_output_give_up(o, job);
	}
	give_place_back(l);
	o->unwritten -= l->bytes;
	o->dealt += l->bytes;
	o->result.totals.chunks++;
	o->result.totals.threads += l->open_sequence == 0;
	pthread_cond_broadcast(&o->written);
	pthread_mutex_unlock(&o->lock);
	l->open = 0;
}

/* The next job; NULL: the open chunk has everything it will get, or the end has come. Called under the lock. */
static struct tw_job *next_job(struct tw_lane *l)
{
	struct tw_output *o = l->o;
	l->busy -= l->working;
	while (!l->first && !o->ending && (!l->open || l->open == l->feeding)) {
		rest_locked(l);
		if (!tw_output_share(o, l))
			pthread_cond_wait(&l->fed_more, &o->lock);
	}
	work(l);
	struct tw_job *job = l->first;
	l->working = 1;
	if (!job) {
		l->busy++;
		l->begun = 0;
		return NULL;
	}
	l->first = job->next;
	if (!l->first)
		l->last = &l->first;
	l->begun = job->id;
	return job;
}

/* The slot stays until the chunk is written. */
static void hold(struct tw_lane *l, struct tw_job *job)
{
	job->chunk.c = NULL;
	job->chunk.m = NULL;
	job->chunk.e = NULL;
	job->next = l->held;
	l->held = job;
}

/* Prepares the first chunk's place and the memory of its predictor, while there is nothing else to do. */
static void make_ready(struct tw_lane *l)
{
	struct tw_output *o = l->o;
	take_place(l);
	if (packer_of(l)) {
		tw_packer_encoder(packer_of(l));
		give_encoder_back(l);
	}
	pthread_mutex_lock(&o->lock);
	give_place_back(l);
	pthread_mutex_unlock(&o->lock);
}

static void *run(void *arg)
{
	struct tw_lane *l = arg;
	struct tw_output *o = l->o;
	if (l->ahead)
		make_ready(l);
	l->ahead = 0;
	for (;;) {
		pthread_mutex_lock(&o->lock);
		const int leaves = l->leaves;
		struct tw_job *job = leaves ? NULL : next_job(l);
		pthread_mutex_unlock(&o->lock);
		if (leaves)
			return NULL;
		if (l->open && (!job || job->id != l->open))
			close_chunk(l);
		else if (!job)
			break;
		if (!job)
			continue;
		if (!l->open)
			open_chunk(l, job);
		l->bytes += job->bytes;
		do_job(l, job);
		if (job->spooled)
			hold(l, job);
		else
			tw_output_drop(o, job);
	}
	rest(l);
	return NULL;
}

static void *run_low(void *arg)
{
	tw_helper_thread_yield(TW_PRIORITY_LOWEST);
	return run(arg);
}

/* Takes the lane over, between two jobs, from a thread of low priority. */
static void *take_over(void *arg)
{
	struct tw_lane *l = arg;
	struct tw_output *o = l->o;
	pthread_mutex_lock(&o->lock);
	l->leaves = 1;
	pthread_mutex_unlock(&o->lock);
	pthread_join(l->before, NULL);
	l->leaves = 0;
	return run(l);
}

void tw_output_hasten(struct tw_output *o)
{
	pthread_mutex_lock(&o->lock);
	const unsigned n = o->yields ? o->n_lanes : 0;
	o->yields = 0;
	pthread_mutex_unlock(&o->lock);
	for (struct tw_lane *l = o->lane; l < o->lane + n; l++) {
		pthread_t next;
		l->before = l->thread;
		if (tw_helper_thread_start(&next, take_over, l))
			l->thread = next;
	}
}

void tw_output_run_all(struct tw_output *o)
{
	o->most_running = o->processors;
	o->makes_way = 0;
	pthread_cond_broadcast(&o->rests);
}

void tw_output_end_feeding(struct tw_output *o)
{
	for (struct tw_lane *l = o->lane; l < o->lane + o->n_lanes; l++) {
		l->feeding = 0;
		pthread_cond_signal(&l->fed_more);
	}
}

int tw_output_lane_start(struct tw_output *o, int ahead)
{
	struct tw_lane *l = &o->lane[o->n_lanes];
	l->o = o;
	l->ahead = ahead;
	l->last = &l->first;
	pthread_cond_init(&l->fed_more, NULL);
	int why = pthread_create(&l->thread, NULL, o->yields ? run_low : run, l);
	if (why) {
		pthread_cond_destroy(&l->fed_more);
		return tw_fail(TW_ERR_SYSTEM, "thread: %s", strerror(why));
	}
	o->n_lanes++;
	return TW_OK;
}

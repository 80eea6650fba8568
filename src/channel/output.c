#include "channel/output.h"
#include "channel/demux.h"
#include "channel/feed.h"
#include "channel/machine.h"
#include "channel/ring.h"
#include "channel/spool.h"
#include "base/array.h"
#include "recording/recording.h"
#include "recording/value_map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Jobs at least when chunks are stored, and when they are not. */
enum { JOBS = 48, FEW_JOBS = 8 };

/* A chunk that got all its buffers comes from a program that makes them fast, and is compressed at the faster level. */
enum { LEVEL = 3, FAST_LEVEL = 1 };

/* Of a chunk that a ring keeps or drops as a whole. */
enum { RING_BUFFERS = 4 };

/* An encoding thread. What it shares with the drain loop is under the output's lock. */
struct lane {
	struct tw_output *o;
	pthread_t thread;
	pthread_cond_t fed_more;  /* something to do */
	struct tw_packer *packer; /* NULL: nothing is stored */
	struct tw_job *first, **last;
	unsigned busy;    /* jobs in the queue, and 1 while the thread is at work */
	uint32_t feeding; /* the chunk that gets what comes; 0: none */
	uint32_t serial;  /* the traced thread it is of */
	unsigned fed;     /* buffers it has got */
	uint64_t since;   /* when it began */
	uint64_t used;    /* when it last got one, counted in jobs */
	/* the encoding thread's own */
	unsigned working; /* it is counted in `busy` */
	uint32_t open;    /* the chunk being encoded; 0: none */
	uint32_t open_serial, open_sequence;
	unsigned pieces;      /* it has got */
	uint64_t descriptors; /* that it needs */
	struct tw_job *held;  /* slots of the spool whose buffers are in it */
	int running;          /* it is one of those at work; under the lock */
	struct tw_spool_room *room;
	struct tw_chunk apart; /* a buffer of the spool, taken apart */
	struct tw_totals sums; /* of the open chunk so far: insns, blocks, refs */
};

/* Descriptors side by side in memory. */
struct piece {
	struct piece *next;
	const uint8_t *bytes;
	size_t n;
	uint64_t end; /* of the bytes described so far, up to and including these */
};

/* Chunks of one traced thread: begun by the drain loop, and dealt with by lanes. */
struct chunk_order {
	uint32_t begun, done;
	uint64_t insns, blocks, refs; /* of those done */
};

/* A block that is to be written when all that was put before has been looked at. */
struct tw_told {
	struct tw_told *next;
	uint32_t kind;
	void *bytes;
	size_t n;
};

struct tw_output {
	struct tw_output_options options;
	pthread_mutex_t lock;
	pthread_mutex_t writing; /* the writer; never held together with the lock */
	pthread_cond_t freed;    /* a job is unused again */
	pthread_cond_t written;  /* a chunk is dealt with */
	struct tw_job *job;      /* n_jobs of them, most_jobs at the most */
	struct tw_job *unused;
	unsigned n_jobs, most_jobs;
	int ending;
	_Atomic int failed, abandoned;
	struct lane lane[TW_OUTPUT_LANES];
	unsigned n_lanes;
	struct chunk_order *order; /* by serial number */
	size_t n_order;
	uint32_t last_id;
	uint64_t n_put;
	uint64_t described;            /* bytes of descriptors so far: the drain loop's */
	struct tw_ring *ring;          /* under `writing`; NULL: there is none */
	struct piece *pieces, *newest; /* of descriptors that are to be written; under the lock */
	struct tw_output_result result;
	pthread_t returns;                /* takes buffers back from the feed */
	struct tw_spool *spool;           /* the options' */
	struct tw_job *earliest, *latest; /* put to the spool, and not told of yet */
	unsigned lost;                    /* slots that could not be written */
	pthread_cond_t rests;             /* a lane is at work no more */
	unsigned n_running, most_running;
	uint64_t put_bytes, waiting_bytes; /* of buffers in the spool */
	_Atomic uint64_t scribbled;        /* when descriptors were written the last time */
	_Atomic uint64_t all_described;    /* as `described`, for lanes */
};

/* ---- failing ---- */

/* The first failure is kept, and said if that can be: a full disk is full for standard error too. Callable by any thread. */
static void fail(struct tw_output *o, int error)
{
	struct tw_output_result *r = &o->result;
	if (atomic_exchange(&o->failed, 1))
		return;
	tw_failure_sentence(error, r->failure, sizeof r->failure);
	r->said = fprintf(stderr, "trackway: recording stopped, the program goes on: %s\n", r->failure) > 0;
}

/* What a program has written makes no sense: the recording goes on, and says so at its end. */
static void note_odd(struct tw_output *o, int error)
{
	struct tw_output_result *r = &o->result;
	pthread_mutex_lock(&o->lock);
	if (!r->failure[0])
		tw_failure_sentence(error, r->failure, sizeof r->failure);
	pthread_mutex_unlock(&o->lock);
}

static int stores(const struct tw_output *o)
{
	return o->options.writer && !atomic_load(&o->failed);
}

/* ---- writing ---- */

/* The next piece that begins before `end`, taken off the list; NULL: there is none. */
static struct piece *next_piece(struct tw_output *o, uint64_t end)
{
	pthread_mutex_lock(&o->lock);
	struct piece *p = o->pieces;
	if (p && p->end - p->n >= end)
		p = NULL;
	if (p)
		o->pieces = p->next;
	pthread_mutex_unlock(&o->lock);
	return p;
}

/* Under `writing`. */
static void write_descriptors(struct tw_output *o, uint64_t end)
{
	for (struct piece *p; (p = next_piece(o, end)); free(p)) {
		int error = stores(o) ? tw_writer_descriptors(o->options.writer, p->bytes, p->n) : TW_OK;
		if (error)
			fail(o, error);
	}
}

void tw_output_write_descriptors(struct tw_output *o)
{
	pthread_mutex_lock(&o->writing);
	write_descriptors(o, o->described);
	pthread_mutex_unlock(&o->writing);
}

/* Under `writing`. Frees the bytes. */
static void write_block(struct tw_output *o, uint32_t kind, void *bytes, size_t n)
{
	int error = !stores(o) ? TW_OK : bytes ? tw_writer_block(o->options.writer, kind, bytes, n) : tw_fail(TW_ERR_MEMORY, "modules");
	if (error)
		fail(o, error);
	free(bytes);
}

void tw_output_block(struct tw_output *o, uint32_t kind, void *bytes, size_t n)
{
	if (o->options.feed && bytes)
		tw_feed_block(o->options.feed, kind, bytes, n);
	pthread_mutex_lock(&o->writing);
	write_block(o, kind, bytes, n);
	pthread_mutex_unlock(&o->writing);
}

/* Whether anybody wants blocks. */
static int is_wanted(const struct tw_output *o)
{
	return stores(o) || o->options.feed;
}

/* Of a buffer in the spool it waits until what was put before has been looked at: modules and processes are told of in their order. */
static void tell(struct tw_output *o, struct tw_job *job, uint32_t kind, void *bytes, size_t n)
{
	struct tw_told *told = job->spooled && bytes ? malloc(sizeof *told) : NULL, **end = &job->told;
	if (job->is_told) {
		free(bytes);
		return;
	}
	if (!told) {
		tw_output_block(o, kind, bytes, n);
		return;
	}
	*told = (struct tw_told){NULL, kind, bytes, n};
	while (*end)
		end = &(*end)->next;
	*end = told;
}

static void write_module(struct tw_output *o, struct tw_job *job, const void *payload)
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
	size_t n;
	if (module.path[0] && is_wanted(o)) {
		void *bytes = tw_module_bytes(&module, &n);
		tell(o, job, TW_BLOCK_MODULES, bytes, n);
	}
}

/* ---- one buffer's part of a chunk ---- */

static void write_note(struct tw_output *o, struct tw_job *job, struct tw_file_note note, const char *text)
{
	size_t n;
	note.thread = job->chunk.thread;
	if (is_wanted(o)) {
		void *bytes = tw_note_bytes(&note, text, &n);
		tell(o, job, TW_BLOCK_PROCESSES, bytes, n);
	}
}

/* Where this thread is a process's first, and not the same process with another program. */
static void note_start(struct tw_output *o, struct tw_job *job, const struct tw_thread_start *e)
{
	job->thread.parent_tid = e->parent_tid;
	if (e->pid == e->tid && e->parent_tid && e->parent_pid != e->pid)
		write_note(o, job, (struct tw_file_note){.kind = TW_NOTE_START, .pid = e->pid, .parent_pid = e->parent_pid, .tsc = e->tsc},
		           NULL);
}

static void note_program(struct tw_output *o, struct tw_job *job, const struct tw_program_start *e, uint32_t bytes)
{
	struct tw_file_note note = {
	    .kind = TW_NOTE_PROGRAM,
	    .pid = e->pid,
	    .parent_pid = job->thread.parent_pid,
	    .n_args = e->n_args,
	    .tsc = e->tsc,
	    .text_bytes = bytes - (uint32_t)sizeof *e,
	};
	write_note(o, job, note, (const char *)(e + 1));
}

static void note_end(struct tw_output *o, struct tw_job *job, uint32_t pid, int32_t status, uint64_t tsc)
{
	write_note(o, job, (struct tw_file_note){.kind = TW_NOTE_END, .pid = pid, .status = status, .tsc = tsc}, NULL);
}

static void note_fork(struct tw_output *o, struct tw_job *job, const struct tw_fork *e)
{
	struct tw_file_note note = {.kind = TW_NOTE_UNFOLLOWED, .pid = e->child_pid, .parent_pid = job->thread.pid, .tsc = e->tsc};
	if (!e->followed)
		write_note(o, job, note, NULL);
}

static void look_at_event(struct tw_output *o, struct tw_job *job, const struct tw_event_header *h)
{
	const void *payload = h + 1;
	const struct tw_thread_end *end = payload;
	const struct tw_child_end *child = payload;
	switch (h->type) {
	case TW_EVENT_MAP:
		if (((const struct tw_map *)payload)->prot & PROT_EXEC)
			write_module(o, job, payload);
		break;
	case TW_EVENT_THREAD_START:
		note_start(o, job, payload);
		break;
	case TW_EVENT_PROGRAM:
		note_program(o, job, payload, h->bytes);
		break;
	case TW_EVENT_FORK:
		note_fork(o, job, payload);
		break;
	case TW_EVENT_THREAD_END:
		if (end->what == TW_ENDED_PROCESS)
			note_end(o, job, job->thread.pid, end->status, end->tsc);
		break;
	case TW_EVENT_CHILD_END:
		note_end(o, job, child->pid, child->status, child->tsc);
		break;
	}
}

/* Stores modules and what is told of processes, takes the parent from THREAD_START, counts gaps and time stamps. */
static void look_at_events(struct tw_output *o, struct tw_job *job)
{
	size_t at = 0;
	job->events = (struct tw_event_sums){0};
	for (const struct tw_event_header *h; (h = tw_demux_next_event(&job->chunk, &at));) {
		look_at_event(o, job, h);
		job->events.gaps += h->type == TW_EVENT_GAP;
		job->events.stamps += h->type == TW_EVENT_STAMP;
	}
	if (job->dead && (job->chunk.flags & TW_CHUNK_LAST))
		note_end(o, job, job->thread.pid, job->wait_status, __builtin_ia32_rdtsc());
}

static void count(const struct lane *l, const struct tw_job *job)
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

/* Called under the lock. */
static void give_up_job(struct tw_output *o, struct tw_job *job)
{
	if (--job->holders)
		return;
	job->put = 0;
	job->next = o->unused;
	o->unused = job;
	pthread_cond_signal(&o->freed);
}

/* ---- buffers of the spool ---- */

static int take_room(struct lane *l)
{
	struct tw_chunk *c = &l->apart;
	if (l->room && c->e)
		return TW_OK;
	l->room = l->room ? l->room : malloc(sizeof *l->room);
	c->c = c->c ? c->c : malloc(TW_DEMUX_C * sizeof *c->c);
	c->m = c->m ? c->m : malloc(TW_DEMUX_M * sizeof *c->m);
	c->e = c->c && c->m ? malloc(TW_DEMUX_E) : NULL;
	return l->room && c->e ? TW_OK : tw_fail(TW_ERR_MEMORY, "a buffer");
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
	            .head = {TW_TAG_EVENT, TW_EVENT_GAP, sizeof events.gap + sizeof why}};
	memcpy(events.text, why, sizeof why);
	memcpy(c->e, &events, sizeof events);
	c->n_e = sizeof events;
	c->c[0] = c->c[1] = TW_TAG_EVENT;
	c->n_c = 2;
}

/* Makes of the job's slot its chunk, in memory that is the lane's. */
static int take_apart(struct lane *l, struct tw_job *job)
{
	struct tw_output *o = l->o;
	struct tw_chunk *c = &job->chunk;
	struct tw_demux_input in;
	int error = take_room(l);
	if (!error)
		error = tw_spool_read(o->spool, (unsigned)(job - o->job), job->bytes, job->slack_end, l->room, &in);
	if (error)
		return error;
	c->c = l->apart.c;
	c->m = l->apart.m;
	c->e = l->apart.e;
	pthread_mutex_lock(&o->lock);
	c->first_insn = o->order[c->thread].insns + l->sums.insns;
	c->first_block = o->order[c->thread].blocks + l->sums.blocks;
	c->first_ref = o->order[c->thread].refs + l->sums.refs;
	pthread_mutex_unlock(&o->lock);
	error = tw_demux_buffer(o->options.demux, &in, c);
	if (!c->n_c)
		put_gap(c);
	l->sums.insns += c->insns;
	l->sums.blocks += c->blocks;
	l->sums.refs += c->refs;
	return error;
}

/* The earliest job, if it has been looked at, taken off their list; NULL: it has not. `quiet`: only if it has nothing to tell. Called under the lock. */
static struct tw_job *next_looked(struct tw_output *o, int quiet)
{
	struct tw_job *job = o->earliest;
	if (!job || !job->looked || (quiet && job->told))
		return NULL;
	o->earliest = job->later;
	return job;
}

/* Writes what jobs tell, as far as all that were put before have been looked at. */
static void tell_all(struct tw_output *o)
{
	uint64_t told = 0;
	pthread_mutex_lock(&o->writing);
	for (;;) {
		pthread_mutex_lock(&o->lock);
		struct tw_job *job = next_looked(o, 0);
		pthread_mutex_unlock(&o->lock);
		if (!job)
			break;
		for (struct tw_told *t; (t = job->told); free(t)) {
			job->told = t->next;
			write_block(o, t->kind, t->bytes, t->n);
			told = job->put;
		}
		tw_output_drop(o, job);
	}
	if (told && stores(o))
		tw_spool_told(o->spool, told);
	pthread_mutex_unlock(&o->writing);
}

/* What the job's events tell has been gathered. */
static void has_looked(struct tw_output *o, struct tw_job *job)
{
	pthread_mutex_lock(&o->lock);
	job->looked = 1;
	for (struct tw_job *quiet; (quiet = next_looked(o, 1));)
		give_up_job(o, quiet);
	const int more = o->earliest && o->earliest->looked;
	pthread_mutex_unlock(&o->lock);
	if (more)
		tell_all(o);
}

/* Descriptors come to disk at least so often: without them what is in the spool is lost with the collector. */
#define DESCRIPTORS_NS 100000000ull

static void write_new_descriptors(struct tw_output *o)
{
	const uint64_t now = tw_machine_ns();
	if (!o->spool || now - atomic_load(&o->scribbled) < DESCRIPTORS_NS || pthread_mutex_trylock(&o->writing))
		return;
	atomic_store(&o->scribbled, now);
	write_descriptors(o, atomic_load(&o->all_described));
	pthread_mutex_unlock(&o->writing);
}

/* 0: nothing can be made of it. */
static int unspool(struct lane *l, struct tw_job *job)
{
	struct tw_output *o = l->o;
	int error = take_apart(l, job);
	const int is_there = job->chunk.c != NULL;
	if (is_there && error) {
		job->chunk.flags |= TW_CHUNK_TORN;
		note_odd(o, error);
	} else if (error) {
		fail(o, error);
	}
	if (is_there)
		look_at_events(o, job);
	has_looked(o, job);
	write_new_descriptors(o);
	return is_there;
}

/* ---- a job ---- */

static void do_job(struct lane *l, struct tw_job *job)
{
	struct tw_output *o = l->o;
	struct tw_output_options *opt = &o->options;
	if (job->spooled && atomic_load(&o->abandoned)) {
		has_looked(o, job);
		return;
	}
	if (job->spooled && !unspool(l, job))
		return;
	if (opt->check && opt->check(opt->check_context, &job->chunk))
		o->result.mismatch = 1; /* there is but one lane */
	if (opt->check && !opt->keep_refs)
		tw_demux_strip_refs(&job->chunk);
	count(l, job);
	l->descriptors = job->descriptors;
	l->pieces++;
	if (!l->packer || !stores(o))
		return;
	int error = tw_packer_add(l->packer, &job->thread, &job->chunk, &job->events);
	if (error)
		fail(o, error);
}

/* ---- chunks ---- */

static void open_chunk(struct lane *l, const struct tw_job *job)
{
	l->open = job->id;
	l->open_serial = job->chunk.thread;
	l->open_sequence = job->chunk.sequence;
	l->pieces = 0;
	l->sums = (struct tw_totals){0};
	if (l->packer)
		tw_packer_begin(l->packer);
}

/* With a spool only so many lanes are at work at a time as there are processors, each till its chunk is done. Under the lock. */
static void work(struct lane *l)
{
	struct tw_output *o = l->o;
	while (!l->running && o->n_running == o->most_running)
		pthread_cond_wait(&o->rests, &o->lock);
	o->n_running += !l->running;
	l->running = 1;
}

static void rest_locked(struct lane *l)
{
	struct tw_output *o = l->o;
	o->n_running -= l->running;
	if (l->running)
		pthread_cond_signal(&o->rests);
	l->running = 0;
}

static void rest(struct lane *l)
{
	pthread_mutex_lock(&l->o->lock);
	rest_locked(l);
	pthread_mutex_unlock(&l->o->lock);
}

/* Chunks of a thread are written in their order. They are begun in it too, and lanes work in the order of beginning, so this ends. */
static struct chunk_order wait_for_turn(struct lane *l)
{
	struct tw_output *o = l->o;
	pthread_mutex_lock(&o->lock);
	while (o->order[l->open_serial].done != l->open_sequence)
		pthread_cond_wait(&o->written, &o->lock);
	const struct chunk_order order = o->order[l->open_serial];
	pthread_mutex_unlock(&o->lock);
	return order;
}

static void write_chunk(struct lane *l)
{
	struct tw_output *o = l->o;
	int level = l->pieces == TW_CHUNK_BUFFERS ? FAST_LEVEL : LEVEL;
	int error = stores(o) ? tw_packer_end(l->packer, level) : TW_OK;
	rest(l);
	const struct chunk_order before = wait_for_turn(l);
	if (o->spool && !error)
		tw_packer_follow(l->packer, before.insns, before.blocks, before.refs);
	pthread_mutex_lock(&o->writing);
	write_descriptors(o, l->descriptors);
	if (!error && stores(o) && o->ring)
		error = tw_ring_add(o->ring, tw_packer_packed(l->packer), tw_machine_ns());
	else if (!error && stores(o))
		error = tw_writer_packed(o->options.writer, tw_packer_packed(l->packer));
	if (error)
		fail(o, error);
	pthread_mutex_unlock(&o->writing);
}

static void close_chunk(struct lane *l)
{
	struct tw_output *o = l->o;
	if (l->packer)
		write_chunk(l);
	else
		wait_for_turn(l);
	pthread_mutex_lock(&o->lock);
	struct chunk_order *order = &o->order[l->open_serial];
	order->done++;
	order->insns += l->sums.insns;
	order->blocks += l->sums.blocks;
	order->refs += l->sums.refs;
	for (struct tw_job *job; (job = l->held);) {
		l->held = job->next;
		o->waiting_bytes -= job->bytes;
		give_up_job(o, job);
	}
	o->result.totals.chunks++;
	o->result.totals.threads += l->open_sequence == 0;
	pthread_cond_broadcast(&o->written);
	pthread_mutex_unlock(&o->lock);
	l->open = 0;
}

/* ---- lanes ---- */

/* The next job; NULL: the open chunk has got all it will get, or the end has come. Called under the lock. */
static struct tw_job *next_job(struct lane *l)
{
	struct tw_output *o = l->o;
	l->busy -= l->working;
	while (!l->first && !o->ending && (!l->open || l->open == l->feeding)) {
		rest_locked(l);
		pthread_cond_wait(&l->fed_more, &o->lock);
	}
	work(l);
	struct tw_job *job = l->first;
	l->working = 1;
	if (!job) {
		l->busy++;
		return NULL;
	}
	l->first = job->next;
	if (!l->first)
		l->last = &l->first;
	return job;
}

/* The slot stays until the chunk is written. */
static void hold(struct lane *l, struct tw_job *job)
{
	job->chunk.c = NULL;
	job->chunk.m = NULL;
	job->chunk.e = NULL;
	job->next = l->held;
	l->held = job;
}

static void *run(void *arg)
{
	struct lane *l = arg;
	struct tw_output *o = l->o;
	for (;;) {
		pthread_mutex_lock(&o->lock);
		struct tw_job *job = next_job(l);
		pthread_mutex_unlock(&o->lock);
		if (l->open && (!job || job->id != l->open))
			close_chunk(l);
		else if (!job)
			break;
		if (!job)
			continue;
		if (!l->open)
			open_chunk(l, job);
		do_job(l, job);
		if (job->spooled)
			hold(l, job);
		else
			tw_output_drop(o, job);
	}
	rest(l);
	return NULL;
}

/* The lane for a new chunk: the least busy of those that are not fed, else the one that was fed least lately. */
static struct lane *choose_lane(struct tw_output *o)
{
	struct lane *best = NULL;
	const unsigned few = o->spool ? o->most_running + 1 : o->n_lanes; /* each has memory of its own */
	for (struct lane *l = o->lane; l < o->lane + o->n_lanes; l++) {
		if (best && !best->feeding && l >= o->lane + few)
			break;
		if (!best || !l->feeding > !best->feeding)
			best = l;
		else if (!l->feeding == !best->feeding && (l->feeding ? l->used < best->used : l->busy < best->busy))
			best = l;
	}
	return best;
}

/* Where the next buffer of thread `serial` goes. Called under the lock. */
static struct lane *lane_for(struct tw_output *o, uint32_t serial)
{
	for (struct lane *l = o->lane; l < o->lane + o->n_lanes; l++)
		if (l->feeding && l->serial == serial)
			return l;
	struct lane *l = choose_lane(o);
	l->feeding = ++o->last_id ? o->last_id : ++o->last_id;
	l->serial = serial;
	l->fed = 0;
	l->since = tw_machine_ns();
	o->order[serial].begun++;
	return l;
}

static int take_order(struct tw_output *o, uint32_t serial)
{
	struct chunk_order *order = tw_array_zeros(o->order, serial, &o->n_order, sizeof *order);
	if (!order)
		return tw_fail(TW_ERR_MEMORY, "thread %u", serial);
	o->order = order;
	return TW_OK;
}

/* Adds a job to the chunk it belongs to, perhaps the last one of it. Called under the lock. */
static void enqueue(struct tw_output *o, struct lane *l, struct tw_job *job)
{
	job->next = NULL;
	*l->last = job;
	l->last = &job->next;
	l->busy++;
	l->used = job->put = ++o->n_put;
	unsigned most = o->options.discard || !o->options.writer ? 1 : o->ring ? RING_BUFFERS : TW_CHUNK_BUFFERS;
	if (++l->fed >= most || (job->chunk.flags & (TW_CHUNK_LAST | TW_CHUNK_TORN)))
		l->feeding = 0;
	pthread_cond_signal(&l->fed_more);
}

/* All chunks have got what they will get. Called under the lock. */
static void end_feeding(struct tw_output *o)
{
	for (struct lane *l = o->lane; l < o->lane + o->n_lanes; l++) {
		l->feeding = 0;
		pthread_cond_signal(&l->fed_more);
	}
}

void tw_output_thread_ends(struct tw_output *o, uint32_t serial)
{
	pthread_mutex_lock(&o->lock);
	for (struct lane *l = o->lane; l < o->lane + o->n_lanes; l++) {
		if (l->feeding && l->serial == serial) {
			l->feeding = 0;
			pthread_cond_signal(&l->fed_more);
		}
	}
	pthread_mutex_unlock(&o->lock);
}

void tw_output_age(struct tw_output *o)
{
	uint64_t now = tw_machine_ns();
	write_new_descriptors(o);
	pthread_mutex_lock(&o->lock);
	for (struct lane *l = o->lane; l < o->lane + o->n_lanes; l++) {
		if (l->feeding && now - l->since > TW_CHUNK_NS) {
			l->feeding = 0;
			pthread_cond_signal(&l->fed_more);
		}
	}
	pthread_mutex_unlock(&o->lock);
}

/* ---- the ring ---- */

static void write_ring(struct tw_output *o)
{
	pthread_mutex_lock(&o->writing);
	int error = o->ring && stores(o) ? tw_ring_write(o->ring, o->options.writer) : TW_OK;
	if (error)
		fail(o, error);
	pthread_mutex_unlock(&o->writing);
}

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
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&o->lock);
	end_feeding(o);
	while (!is_idle(o) && !pthread_cond_timedwait(&o->written, &o->lock, &until))
		;
	pthread_mutex_unlock(&o->lock);
	write_ring(o);
}

/* What was not kept is not in the recording: its totals are those of what was written. */
static void count_kept(struct tw_output *o)
{
	const uint64_t written = o->result.totals.written, described = o->result.totals.fragments;
	o->result.totals = *tw_writer_totals(o->options.writer);
	o->result.totals.written = written;
	o->result.totals.fragments = described;
}

/* ---- jobs ---- */

/* One more, unused; 0: there are as many as there are to be, or there is no room for more. Called under the lock, but before there are lanes. */
static int add_job(struct tw_output *o)
{
	struct tw_job *job = &o->job[o->n_jobs];
	if (o->n_jobs == o->most_jobs)
		return 0;
	if (o->options.feed || o->spool) {
		if (o->options.feed)
			tw_feed_room(o->options.feed, o->n_jobs, &job->chunk);
		job->next = o->unused;
		o->unused = job;
		o->n_jobs++;
		return 1;
	}
	job->chunk.c = malloc(TW_DEMUX_C * sizeof *job->chunk.c);
	job->chunk.m = malloc(TW_DEMUX_M * sizeof *job->chunk.m);
	job->chunk.e = malloc(TW_DEMUX_E);
	if (!job->chunk.c || !job->chunk.m || !job->chunk.e) {
		tw_chunk_release(&job->chunk);
		o->most_jobs = o->n_jobs; /* it goes on with those there are */
		return 0;
	}
	job->next = o->unused;
	o->unused = job;
	o->n_jobs++;
	return 1;
}

struct tw_job *tw_output_take(struct tw_output *o)
{
	pthread_mutex_lock(&o->lock);
	while (!o->unused && !add_job(o)) {
		if (o->spool) /* slots are free when chunks are done */
			end_feeding(o);
		pthread_cond_wait(&o->freed, &o->lock);
	}
	struct tw_job *job = o->unused;
	o->unused = job->next;
	job->holders = 1;
	pthread_mutex_unlock(&o->lock);
	return job;
}

void tw_output_drop(struct tw_output *o, struct tw_job *job)
{
	pthread_mutex_lock(&o->lock);
	give_up_job(o, job);
	pthread_mutex_unlock(&o->lock);
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

/* Appends to the pieces that are to be written; mostly they go on where the last one ends. */
static int append_piece(struct tw_output *o, const uint8_t *bytes, size_t n)
{
	struct piece *last = o->pieces ? o->newest : NULL;
	o->described += n;
	atomic_store(&o->all_described, o->described);
	if (last && last->bytes + last->n == bytes) {
		last->n += n;
		last->end += n;
		return TW_OK;
	}
	struct piece *p = malloc(sizeof *p);
	if (!p)
		return tw_fail(TW_ERR_MEMORY, "descriptors");
	*p = (struct piece){.bytes = bytes, .n = n, .end = o->described};
	if (last)
		last->next = p;
	else
		o->pieces = p;
	o->newest = p;
	return TW_OK;
}

void tw_output_describe(struct tw_output *o, struct tw_value_family *family, const uint8_t *bytes, size_t n)
{
	if (o->options.feed)
		tw_feed_block(o->options.feed, TW_BLOCK_DESCRIPTORS, bytes, n);
	if (!stores(o) || o->options.discard)
		return;
	int error = tw_value_map_add_all(tw_writer_values(o->options.writer), family, bytes, n);
	pthread_mutex_lock(&o->lock);
	if (!error)
		error = append_piece(o, bytes, n);
	pthread_mutex_unlock(&o->lock);
	if (error)
		fail(o, error);
}

void tw_output_forget(struct tw_output *o, uint32_t first)
{
	if (o->options.writer)
		tw_writer_forget(o->options.writer, first);
}

void tw_output_forget_one(struct tw_output *o, uint32_t number)
{
	if (o->options.writer)
		tw_writer_forget_one(o->options.writer, number);
}

int tw_output_resume(struct tw_output *o, uint32_t serial, uint32_t chunks, const struct tw_totals *before)
{
	pthread_mutex_lock(&o->lock);
	int error = take_order(o, serial);
	if (!error)
		o->order[serial] = (struct chunk_order){chunks, chunks, before->insns, before->blocks, before->refs};
	pthread_mutex_unlock(&o->lock);
	return error;
}

/* The lane that the job goes to, and the chunk. NULL: there is no memory, and no job any more. */
static struct lane *assign(struct tw_output *o, struct tw_job *job)
{
	struct lane *l = NULL;
	job->descriptors = o->described;
	pthread_mutex_lock(&o->lock);
	int error = take_order(o, job->chunk.thread);
	if (!error) {
		l = lane_for(o, job->chunk.thread);
		job->id = l->feeding;
		job->chunk.sequence = o->order[job->chunk.thread].begun - 1;
	}
	pthread_mutex_unlock(&o->lock);
	if (error) {
		fail(o, error);
		tw_output_drop(o, job);
	}
	return l;
}

void tw_output_put(struct tw_output *o, struct tw_job *job)
{
	struct lane *l = assign(o, job);
	if (!l)
		return;
	look_at_events(o, job);
	feed_job(o, job);
	pthread_mutex_lock(&o->lock);
	enqueue(o, l, job);
	pthread_mutex_unlock(&o->lock);
}

/* A slot with the buffer in it. Those that cannot be written, since the disk is full, are not tried again. NULL: there is no other. */
static struct tw_job *write_slot(struct tw_output *o, const struct tw_demux_input *in)
{
	while (o->lost < o->most_jobs) {
		struct tw_job *job = tw_output_take(o);
		int error = tw_spool_write(o->spool, (unsigned)(job - o->job), in);
		if (!error)
			return job;
		pthread_mutex_lock(&o->lock);
		o->most_jobs = o->n_jobs;
		o->lost++;
		pthread_mutex_unlock(&o->lock);
		if (o->lost == o->most_jobs)
			fail(o, error);
	}
	return NULL;
}

void tw_output_spool(struct tw_output *o, const struct tw_output_buffer *buffer, const struct tw_demux_input *in)
{
	struct tw_job *job = write_slot(o, in);
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
	struct lane *l = assign(o, job);
	if (!l)
		return;
	struct tw_spooled head = {
	    .put = o->n_put + 1,
	    .descriptors = o->described,
	    .serial = job->thread.serial,
	    .pid = job->thread.pid,
	    .tid = job->thread.tid,
	    .parent_pid = job->thread.parent_pid,
	    .sequence = job->chunk.sequence,
	    .flags = job->chunk.flags,
	    .dead = (uint32_t)job->dead,
	    .wait_status = job->wait_status,
	    .bytes = job->bytes,
	    .slack_end = job->slack_end,
	};
	int error = tw_spool_write_head(o->spool, (unsigned)(job - o->job), &head);
	if (error)
		fail(o, error);
	pthread_mutex_lock(&o->lock);
	job->holders = 2;
	*(o->earliest ? &o->latest->later : &o->earliest) = job;
	o->latest = job;
	o->put_bytes += job->bytes;
	o->waiting_bytes += job->bytes;
	enqueue(o, l, job);
	pthread_mutex_unlock(&o->lock);
}

/* From here on no chunk is written: one that misses a buffer must not be, since those that are written are not encoded again. */
void tw_output_abandon(struct tw_output *o)
{
	struct tw_output_result *r = &o->result;
	pthread_mutex_lock(&o->writing);
	write_descriptors(o, atomic_load(&o->all_described));
	if (!atomic_exchange(&o->failed, 1)) {
		snprintf(r->failure, sizeof r->failure,
		         "encoding was broken off; the next command that reads the recording goes on with it");
		r->abandoned = 1;
	}
	atomic_store(&o->abandoned, 1);
	pthread_mutex_unlock(&o->writing);
}

uint64_t tw_output_settle(struct tw_output *o, unsigned ms)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&o->lock);
	end_feeding(o);
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

static void free_output(struct tw_output *o)
{
	for (unsigned i = 0; i < o->n_jobs && !o->options.feed; i++)
		tw_chunk_release(&o->job[i].chunk);
	free(o->job);
	for (unsigned i = 0; i < TW_OUTPUT_LANES; i++) {
		tw_packer_free(o->lane[i].packer);
		tw_chunk_release(&o->lane[i].apart);
		free(o->lane[i].room);
	}
	for (unsigned i = 0; i < o->n_lanes; i++)
		pthread_cond_destroy(&o->lane[i].fed_more);
	pthread_mutex_destroy(&o->lock);
	pthread_mutex_destroy(&o->writing);
	pthread_cond_destroy(&o->freed);
	pthread_cond_destroy(&o->written);
	pthread_cond_destroy(&o->rests);
	for (struct piece *p; (p = o->pieces); free(p))
		o->pieces = p->next;
	free(o->order);
	tw_ring_free(o->ring);
	free(o);
}

/*
 * So many that the chunks of one thread keep all processors but one, which the program has, at work: several are encoded at once only if each has more jobs
 * waiting than its lane can do while the next one comes. A job holds the streams of one buffer. At most a sixteenth of the memory.
 */
static unsigned count_jobs(const struct tw_output_options *opt)
{
	const uint64_t room = tw_machine_memory() / 16 / TW_BUFFER_BYTES;
	uint64_t lanes = tw_machine_processors() - 1, n;
	if (opt->feed)
		return TW_FEED_JOBS;
	if (opt->discard)
		return FEW_JOBS;
	if (opt->check || !opt->writer)
		return JOBS;
	lanes = lanes < 1 ? 1 : lanes > TW_OUTPUT_LANES / 2 ? TW_OUTPUT_LANES / 2 : lanes;
	n = lanes * TW_CHUNK_BUFFERS + JOBS / 2;
	n = n < room ? n : room;
	return (unsigned)(n > JOBS ? n : JOBS);
}

/* Where memory is limited, all jobs together may have a sixth of it: what they have room for is mostly more than what they have in them. */
static unsigned limit_jobs(unsigned n)
{
	const uint64_t job = TW_DEMUX_C * sizeof(uint16_t) + TW_DEMUX_M * sizeof(uint64_t) + TW_DEMUX_E,
	               most = tw_machine_memory() / 6 / job;
	return most >= n ? n : most > FEW_JOBS ? (unsigned)most : FEW_JOBS;
}

static int make_jobs(struct tw_output *o)
{
	o->most_jobs = o->spool ? tw_spool_slots(o->spool) : limit_jobs(count_jobs(&o->options));
	o->job = calloc(o->most_jobs, sizeof *o->job);
	while (o->job && o->n_jobs < FEW_JOBS && add_job(o))
		;
	return o->n_jobs < FEW_JOBS ? tw_fail(TW_ERR_MEMORY, "chunks") : TW_OK;
}

static void end_lanes(struct tw_output *o)
{
	pthread_mutex_lock(&o->lock);
	o->ending = 1;
	for (unsigned i = 0; i < o->n_lanes; i++)
		pthread_cond_signal(&o->lane[i].fed_more);
	pthread_mutex_unlock(&o->lock);
	for (unsigned i = 0; i < o->n_lanes; i++)
		pthread_join(o->lane[i].thread, NULL);
}

static int start_lane(struct tw_output *o)
{
	struct lane *l = &o->lane[o->n_lanes];
	l->o = o;
	l->last = &l->first;
	if (o->options.writer && !o->options.discard) {
		l->packer = tw_writer_packer(o->options.writer);
		if (!l->packer)
			return tw_fail(TW_ERR_MEMORY, "packer");
	}
	pthread_cond_init(&l->fed_more, NULL);
	int why = pthread_create(&l->thread, NULL, run, l);
	if (why)
		return tw_fail(TW_ERR_SYSTEM, "thread: %s", strerror(why));
	o->n_lanes++;
	return TW_OK;
}

/* What there should be for each, where memory is limited. */
enum { LANE_MEMORY = 256 << 20 };

/* A check wants the buffers of a thread in their order, and without storing there is little to do: then there is one lane. */
static int start_lanes(struct tw_output *o)
{
	const struct tw_output_options *opt = &o->options;
	const uint64_t most = tw_machine_memory() / LANE_MEMORY;
	unsigned n = opt->check || !opt->writer || opt->discard || !most ? 1 : most < TW_OUTPUT_LANES ? (unsigned)most : TW_OUTPUT_LANES;
	int error = TW_OK;
	while (o->n_lanes < n && !error)
		error = start_lane(o);
	return o->n_lanes ? TW_OK : error;
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
	o->most_running = o->spool ? tw_machine_processors() : TW_OUTPUT_LANES;
	const int is_ring = options->writer && !options->discard && (options->ring.bytes || options->ring.ns);
	o->ring = is_ring ? tw_ring_new(&options->ring) : NULL;
	int error = is_ring && !o->ring ? tw_fail(TW_ERR_MEMORY, "--ring") : make_jobs(o);
	if (!error)
		error = start_lanes(o);
	if (!error && o->options.feed) {
		int why = pthread_create(&o->returns, NULL, take_returns, o);
		error = why ? tw_fail(TW_ERR_SYSTEM, "thread: %s", strerror(why)) : TW_OK;
	}
	if (error) {
		free_output(o);
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
	end_lanes(o);
	end_feed(o);
	write_descriptors(o, o->described);
	write_ring(o);
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
	free_output(o);
}

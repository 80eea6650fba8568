/*
 * Replay of a recording by several workers. The selected chunks are divided into ranges. Each worker takes the next
 * range, or the longest one left, and replays it into a state of its own; states are merged in the order of their
 * ranges as soon as possible. If there is one range per worker, a worker that has finished takes half of what another
 * has not reached. (For analyzers that want all threads in time order: ordered.c.)
 */
#include "recording/recording.h"
#include "replay/count.h"
#include "replay/ordered.h"
#include "replay/replayer.h"
#include "replay/walk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <trackway/replay.h>

struct tw_replayer {
	const struct tw_recording *recording;
	struct tw_programs *programs;
	int compiled;    /* programs are there */
	uint64_t period; /* of the analyzer */
};

struct place {
	size_t thread, chunk;
};

struct range {
	size_t first, end; /* in places */
	uint64_t cost;
	void *state;
	struct range *after; /* in the order of places */
	size_t next;         /* place to be replayed next; this and `end` are under the lock */
	int done;
};

struct replay {
	const struct tw_recording *recording;
	const struct tw_replay_options *options;
	const struct tw_analyzer *analyzer;
	void *arg;
	struct tw_programs *programs;
	const struct tw_good_chunks *good; /* NULL: all chunks are walked */
	struct tw_count_map *count_map;    /* NULL likewise */
	const struct tw_descriptor **described;
	uint64_t period;
	struct place *places;
	size_t n_places;
	struct range *ranges; /* there is room for one of each place */
	size_t n_ranges;      /* under the lock while workers are at it */
	size_t n_turns;
	struct range **turn; /* the ranges in the order in which they are taken */
	size_t window;       /* so many may be taken that are not merged */
	unsigned n_workers;
	/* Below: under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t moved;   /* `merged`, `compiled` or `error` has changed */
	int compiled;           /* programs are there */
	int compiling;          /* ...or will be */
	size_t next;            /* turn to be taken */
	size_t merged;          /* ranges joined into that of range 0 */
	struct range *unmerged; /* the first that is not */
	int merging;            /* a worker is at it */
	size_t n_done;          /* places that have been replayed */
	int error;
	char detail[512];
};

/* ---- what to replay ---- */

static int list_places(struct replay *r)
{
	const struct tw_replay_options *o = r->options;
	size_t n = 0, n_threads = tw_recording_n_threads(r->recording);
	for (size_t t = 0; t < n_threads; t++)
		n += tw_recording_thread(r->recording, t)->n_chunks;
	r->places = calloc(n + 1, sizeof *r->places);
	if (!r->places)
		return tw_fail(TW_ERR_MEMORY, "list of chunks");
	for (size_t t = 0; t < n_threads; t++)
		for (size_t c = 0; c < tw_recording_thread(r->recording, t)->n_chunks; c++)
			if (!o->select || o->select(o->context, t, c))
				r->places[r->n_places++] = (struct place){t, c};
	return 0;
}

/* End of the range that starts at place `first`: after this many places, or at the thread's end. */
static size_t range_end(const struct replay *r, size_t first, size_t grain)
{
	size_t end = first + 1;
	if (r->analyzer->scope == TW_SCOPE_THREADS)
		while (end < r->n_places && r->places[end].thread == r->places[first].thread)
			end++;
	else
		end = grain < r->n_places - first ? first + grain : r->n_places;
	return end;
}

/* Cuts the places into ranges of `grain`, or into one for each worker, or each thread. There is always at least one range. */
static int list_ranges(struct replay *r)
{
	size_t jobs = r->options->jobs ? r->options->jobs : 1;
	size_t grain = r->options->grain ? r->options->grain : (r->n_places + jobs - 1) / jobs;
	r->ranges = calloc(r->n_places + 1, sizeof *r->ranges);
	if (!r->ranges)
		return tw_fail(TW_ERR_MEMORY, "list of chunks");
	if (jobs == 1 || !r->n_places)
		r->ranges[r->n_ranges++].end = r->n_places;
	for (size_t end, first = 0; jobs > 1 && first < r->n_places; first = end) {
		end = range_end(r, first, grain);
		r->ranges[r->n_ranges++] = (struct range){.first = first, .next = first, .end = end};
	}
	for (size_t i = 0; i + 1 < r->n_ranges; i++)
		r->ranges[i].after = &r->ranges[i + 1];
	r->unmerged = r->ranges;
	r->n_workers = (unsigned)(jobs < r->n_ranges ? jobs : r->n_ranges);
	return 0;
}

/*
 * Approximate time for a range: by the bytes that are read, decompressed and decoded for it. Instructions and
 * references are worse estimates.
 */
static uint64_t cost_of(const struct replay *r, const struct range *range)
{
	uint64_t cost = 0;
	for (size_t i = range->first; i < range->end; i++) {
		const struct tw_chunk_info *c = tw_recording_chunk_info(r->recording, r->places[i].thread, r->places[i].chunk);
		cost += c->stored[TW_STREAM_C] + c->stored[TW_STREAM_M] + c->coded[TW_STREAM_M] + c->raw[TW_STREAM_C];
	}
	return cost;
}

static int longer_first(const void *a, const void *b)
{
	const struct range *x = *(struct range *const *)a, *y = *(struct range *const *)b;
	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	return (x > y) - (x < y);
}

static int list_turns(struct replay *r)
{
	r->turn = calloc(r->n_ranges, sizeof(struct range *));
	if (!r->turn)
		return tw_fail(TW_ERR_MEMORY, "list of chunks");
	for (size_t i = 0; i < r->n_ranges; i++)
		r->turn[i] = &r->ranges[i];
	r->n_turns = r->n_ranges;
	r->window = 2 * (size_t)r->n_workers;
	if (r->options->longest_first && r->n_workers > 1) {
		for (size_t i = 0; i < r->n_ranges; i++)
			r->ranges[i].cost = cost_of(r, &r->ranges[i]);
		qsort(r->turn, r->n_ranges, sizeof(struct range *), longer_first);
		r->window = r->n_ranges;
	}
	return 0;
}

/* ---- workers ---- */

struct worker {
	struct tw_walk *walk;
	struct tw_counter *counter;  /* NULL: none */
	struct tw_coded_chunk coded; /* the chunk that is replayed, and memory for the next */
};

/* The first error counts. Called under the lock by the thread that had the error. */
static void note_error(struct replay *r, int error)
{
	if (!error || r->error)
		return;
	r->error = error;
	snprintf(r->detail, sizeof r->detail, "%s", tw_recording_detail());
	pthread_cond_broadcast(&r->moved);
}

/* The next place of a range, or NULL: it is at its end, or something has failed. */
static const struct place *next_place(struct replay *r, struct range *range)
{
	const struct place *place = NULL;
	pthread_mutex_lock(&r->lock);
	if (!r->error && range->next < range->end)
		place = &r->places[range->next++];
	pthread_mutex_unlock(&r->lock);
	return place;
}

/* What to make of a chunk that cannot be read or walked. */
static int judge(struct replay *r, const struct place *p, int error)
{
	const struct tw_replay_options *o = r->options;
	if (error == TW_ERR_MEMORY || !o->damage)
		return error;
	pthread_mutex_lock(&r->lock);
	error = r->error ? r->error : o->damage(o->context, p->thread, p->chunk, error);
	pthread_mutex_unlock(&r->lock);
	return error;
}

static void compile(struct replay *r)
{
	int error = r->compiled ? 0 : tw_programs_add_all(r->programs, r->recording);
	pthread_mutex_lock(&r->lock);
	r->compiled = !error;
	note_error(r, error);
	pthread_cond_broadcast(&r->moved);
	pthread_mutex_unlock(&r->lock);
}

/* A chunk can be read, but not walked, before that. */
static int wait_compiled(struct replay *r)
{
	pthread_mutex_lock(&r->lock);
	int mine = !r->compiling;
	r->compiling = 1;
	pthread_mutex_unlock(&r->lock);
	if (mine)
		compile(r);
	pthread_mutex_lock(&r->lock);
	while (!r->compiled && !r->error)
		pthread_cond_wait(&r->moved, &r->lock);
	int error = r->error;
	pthread_mutex_unlock(&r->lock);
	return error;
}

static int replay_place(struct replay *r, struct worker *w, void *state, const struct place *p)
{
	int stopped = 0, error = tw_recording_coded_chunk(r->recording, p->thread, p->chunk, &w->coded);
	if (!error && w->counter && tw_counter_holds(w->counter, &w->coded))
		return r->good->take(state, &w->coded.chunk);
	int failed = wait_compiled(r);
	if (failed)
		return failed;
	if (!error) {
		error = tw_walk_read(w->walk, &w->coded, NULL);
		stopped = tw_walk_stopped(w->walk);
	}
	return stopped || !error ? stopped : judge(r, p, error);
}

static void tell_progress(struct replay *r)
{
	const struct tw_replay_options *o = r->options;
	if (!o->progress)
		return;
	pthread_mutex_lock(&r->lock);
	o->progress(o->progress_context, ++r->n_done, r->n_places);
	pthread_mutex_unlock(&r->lock);
}

static int replay_range(struct replay *r, struct worker *w, struct range *range)
{
	void *state = r->analyzer->begin(r->arg);
	if (!state)
		return tw_fail(TW_ERR_MEMORY, "%s", r->analyzer->name);
	range->state = state;
	tw_walk_set_context(w->walk, state);
	const struct place *place;
	int error = 0;
	while (!error && (place = next_place(r, range))) {
		error = replay_place(r, w, state, place);
		tell_progress(r);
	}
	return error;
}

/* Merges the next states, unless another worker is doing so. Called under the lock, which is released while merge() runs. */
static void merge_ready(struct replay *r)
{
	while (!r->merging && !r->error && r->unmerged && r->unmerged->done) {
		struct range *range = r->unmerged;
		int error = 0;
		r->merging = 1;
		pthread_mutex_unlock(&r->lock);
		if (range != r->ranges)
			error = r->analyzer->merge(r->ranges->state, range->state);
		pthread_mutex_lock(&r->lock);
		if (range != r->ranges)
			range->state = NULL;
		r->merging = 0;
		r->merged++;
		r->unmerged = range->after;
		pthread_cond_broadcast(&r->moved);
		note_error(r, error);
	}
}

/* Places of a range that nobody has reached. None if it has not been started, so that no state is left without any. */
static size_t places_left(const struct range *range)
{
	return range->next > range->first ? range->end - range->next : 0;
}

/* A state that saw less would cost more, to begin and to merge, than it saves. */
enum { LEAST_LEFT = 4 };

/* Half of the rest of the range with the longest rest, as a new range, or NULL: there is too little. Called under the lock. */
static struct range *split_range(struct replay *r)
{
	struct range *from = r->ranges;
	for (size_t i = 1; i < r->n_ranges; i++)
		if (places_left(&r->ranges[i]) > places_left(from))
			from = &r->ranges[i];
	size_t left = places_left(from), first = from->end - (left + 1) / 2;
	if (left < LEAST_LEFT)
		return NULL;
	struct range *half = &r->ranges[r->n_ranges++];
	*half = (struct range){.first = first, .next = first, .end = from->end, .after = from->after};
	from->end = first;
	from->after = half;
	return half;
}

/* The next range, or NULL. Waits while too many states are unmerged. Called under the lock. */
static struct range *take_range(struct replay *r)
{
	while (!r->error && r->next < r->n_turns && r->next >= r->merged + r->window)
		pthread_cond_wait(&r->moved, &r->lock);
	if (r->error)
		return NULL;
	if (r->next < r->n_turns)
		return r->turn[r->next++];
	return r->options->grain || r->analyzer->scope != TW_SCOPE_CHUNKS ? NULL : split_range(r);
}

static void work(struct replay *r, struct worker *w)
{
	struct range *range;
	pthread_mutex_lock(&r->lock);
	while ((range = take_range(r))) {
		pthread_mutex_unlock(&r->lock);
		int error = replay_range(r, w, range);
		pthread_mutex_lock(&r->lock);
		note_error(r, error);
		range->done = 1;
		merge_ready(r);
	}
	pthread_mutex_unlock(&r->lock);
}

static void *run_worker(void *arg)
{
	struct replay *r = arg;
	struct tw_walk_options options = {
	    .programs = r->programs,
	    .xstate = &tw_recording_info(r->recording)->xstate,
	    .batch = r->analyzer->batch,
	    .period = r->period,
	};
	struct worker w = {.walk = tw_walk_new(&options), .counter = r->count_map ? tw_counter_new(r->count_map) : NULL};
	if (w.walk) {
		work(r, &w);
	} else {
		pthread_mutex_lock(&r->lock);
		note_error(r, tw_fail(TW_ERR_MEMORY, "replay"));
		pthread_mutex_unlock(&r->lock);
	}
	tw_walk_free(w.walk);
	tw_counter_free(w.counter);
	tw_coded_chunk_release(&w.coded);
	return NULL;
}

/* Walking a few frequent fragments by machine code is faster than counting them. */
static int has_many_fragments(const struct replay *r)
{
	enum { MANY = 65536, TAGS_OF_EACH = 1024 };
	const size_t n = tw_recording_n_descriptors(r->recording);
	return n > MANY || tw_recording_totals(r->recording)->raw[TW_STREAM_C] / sizeof(uint16_t) / TAGS_OF_EACH < n;
}

/* Where there is no memory all chunks are walked. */
static void map_counts(struct replay *r)
{
	const size_t n = tw_recording_n_descriptors(r->recording);
	r->described = calloc(n + 1, sizeof(const struct tw_descriptor *));
	for (size_t i = 0; r->described && i < n; i++)
		r->described[i] = tw_recording_descriptor_at(r->recording, i);
	r->count_map = r->described ? tw_count_map_new(r->described, n, tw_recording_values(r->recording)) : NULL;
}

/*
 * Runs the workers; the calling thread is one of them, and first makes the programs, while the others read, unless
 * possibly none is needed. If a thread cannot be created the others do its work.
 */
static void run_workers(struct replay *r)
{
	pthread_t *threads = calloc(r->n_workers, sizeof *threads);
	unsigned n = 0;
	while (threads && n + 1 < r->n_workers && !pthread_create(&threads[n], NULL, run_worker, r))
		n++;
	if (!r->count_map)
		wait_compiled(r);
	run_worker(r);
	while (n--)
		pthread_join(threads[n], NULL);
	free(threads);
}

/* Ends all states that are left: one if all went well. */
static int end_states(struct replay *r)
{
	int error = r->error, result = 0;
	for (size_t i = r->n_ranges; i-- > 0;)
		if (r->ranges[i].state)
			result = r->analyzer->end(r->ranges[i].state, error);
	if (!error)
		return result;
	return error < 0 ? tw_fail(error, "%s", r->detail) : error;
}

int tw_replayer_new(const struct tw_recording *recording, struct tw_replayer **out)
{
	int error = tw_recording_replayable(recording);
	struct tw_replayer *p = error ? NULL : calloc(1, sizeof *p);
	*out = NULL;
	if (!p)
		return error ? error : tw_fail(TW_ERR_MEMORY, "replay");
	p->recording = recording;
	p->programs = tw_programs_new(TW_PROGRAMS_HOT, tw_recording_values(recording));
	if (!p->programs) {
		free(p);
		return tw_fail(TW_ERR_MEMORY, "descriptors");
	}
	*out = p;
	return 0;
}

void tw_replayer_free(struct tw_replayer *p)
{
	if (p)
		tw_programs_free(p->programs);
	free(p);
}

static int run(struct tw_replayer *p, const struct tw_replay_options *options, const struct tw_analyzer *analyzer,
               const struct tw_good_chunks *good, void *arg)
{
	static const struct tw_replay_options defaults;
	struct replay r = {.recording = p->recording,
	                   .options = options ? options : &defaults,
	                   .analyzer = analyzer,
	                   .arg = arg,
	                   .programs = p->programs,
	                   .good = good,
	                   .period = p->period,
	                   .compiled = p->compiled};
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.moved, NULL);
	int error = list_places(&r);
	if (!error)
		error = list_ranges(&r);
	if (!error)
		error = list_turns(&r);
	if (!error) {
		if (good && has_many_fragments(&r))
			map_counts(&r);
		run_workers(&r);
		p->compiled = r.compiled;
		error = end_states(&r);
	}
	free(r.turn);
	free(r.ranges);
	free(r.places);
	tw_count_map_free(r.count_map);
	free(r.described);
	pthread_cond_destroy(&r.moved);
	pthread_mutex_destroy(&r.lock);
	return error;
}

int tw_replayer_run(struct tw_replayer *p, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg)
{
	return run(p, options, analyzer, NULL, arg);
}

int tw_replay_good(const struct tw_recording *recording, const struct tw_replay_options *options, const struct tw_analyzer *analyzer,
                   const struct tw_good_chunks *good, void *arg)
{
	struct tw_replayer *p;
	int error = tw_replayer_new(recording, &p);
	if (error)
		return error;
	tw_programs_set_addresses(p->programs, tw_addresses_of(analyzer, arg, options && options->jobs ? options->jobs : 1, &p->period));
	error = run(p, options, analyzer, good, arg);
	tw_replayer_free(p);
	return error;
}

int tw_replay(const struct tw_recording *recording, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg)
{
	static const struct tw_replay_options defaults;
	int error = tw_recording_replayable(recording);
	if (!error && analyzer->scope == TW_SCOPE_ALL)
		return tw_replay_ordered(recording, options ? options : &defaults, analyzer, arg);
	return error ? error : tw_replay_good(recording, options, analyzer, NULL, arg);
}

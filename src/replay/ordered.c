#include "replay/ordered.h"
#include "recording/recording.h"
#include "replay/coroutine.h"
#include "replay/cut.h"
#include "replay/joins.h"
#include "replay/state.h"
#include "replay/walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 1 << 18 };

struct ordered;

/* A thread. `walk`, `stack` and the chunk's memory are there while it runs. */
struct source {
	struct ordered *o;
	size_t thread;
	uint64_t time; /* at which its next batch begins */
	struct tw_walk *walk;
	struct tw_coded_chunk coded;
	void *stack;
	struct tw_coroutine here;
	size_t chunk;
	uint64_t behind;              /* the time of what comes behind that; 0: not looked at yet */
	struct tw_batch_cut cuts[2];  /* where it joins others, in turn */
	const struct tw_batch *batch; /* the next one; NULL: there is none any more */
	int answer;                   /* what became of the one before */
	int result;                   /* of all, when it has ended */
};

struct ordered {
	const struct tw_recording *recording;
	const struct tw_replay_options *options;
	const struct tw_analyzer *analyzer;
	struct tw_programs *programs;
	void *state;
	struct tw_coroutine here; /* who decides which thread goes on */
	struct source *sources;   /* by the time at which they begin */
	size_t n_sources, begun;  /* so many have begun */
	struct source **heap;     /* those that run, the one whose batch begins first in front */
	size_t n_heap;
	struct tw_joins joins;
};

static int is_before(const struct source *a, const struct source *b)
{
	return a->time != b->time ? a->time < b->time : a->thread < b->thread;
}

/* ---- a thread, in its coroutine ---- */

static void note_time(struct source *s, const struct tw_batch *b)
{
	uint64_t time = b->n_events ? tw_event_time(b->events[0].type, b->events[0].payload) : 0;
	s->time = time > s->time ? time : s->time;
}

/* The time of the first event that has one, of those at e; 0: there is none, or they make no sense. */
static uint64_t time_of_next(const uint8_t *e, size_t n)
{
	size_t at = 0;
	for (const struct tw_event_header *h; (h = tw_event_next(e, n, &at));) {
		const uint64_t time = tw_event_time(h->type, h + 1);
		if (time)
			return time;
	}
	return 0;
}

/* The time of the first event of a chunk; of one that cannot be read, 0. */
static uint64_t first_time(struct ordered *o, size_t thread, size_t chunk, struct tw_coded_chunk *coded)
{
	return tw_recording_coded_chunk(o->recording, thread, chunk, coded) ? 0 : time_of_next(coded->chunk.e, coded->chunk.n_e);
}

/* The time of what the thread does after its current chunk; if there is nothing more, the latest time. */
static uint64_t time_behind_chunk(struct source *s)
{
	struct tw_coded_chunk coded = {0};
	if (!s->behind && s->chunk + 1 < tw_recording_thread(s->o->recording, s->thread)->n_chunks)
		s->behind = first_time(s->o, s->thread, s->chunk + 1, &coded);
	tw_coded_chunk_release(&coded);
	s->behind = s->behind ? s->behind : UINT64_MAX;
	return s->behind;
}

/* As tw_joins_find, of the batch that the thread has come to. */
static const struct tw_join_end *find_join(struct source *s, const struct tw_batch *b, size_t *block)
{
	const struct tw_joins *joins = &s->o->joins;
	const uint32_t pid = tw_recording_thread(s->o->recording, s->thread)->pid;
	const uint64_t behind = joins->n ? time_of_next(s->walk->e, (size_t)(s->walk->e_end - s->walk->e)) : 0;
	const struct tw_join_end *end = tw_joins_find(joins, pid, s->thread, s->time, behind ? behind : UINT64_MAX, b, block);
	return end && !behind ? tw_joins_find(joins, pid, s->thread, s->time, time_behind_chunk(s), b, block) : end;
}

/* Continues when its turn has come and the batch has been processed. */
static int wait_turn(struct source *s, const struct tw_batch *b)
{
	s->batch = b;
	tw_coroutine_switch(&s->here, &s->o->here);
	return s->answer;
}

/* As batch() of an analyzer: delivers it; if the thread joins others, the rest only after these have ended. */
static int hand_over(void *context, const struct tw_batch *b)
{
	struct source *s = context;
	const struct tw_join_end *end;
	size_t block;
	int error = 0;
	note_time(s, b);
	for (int i = 0; !error && (end = find_join(s, b, &block)) && block + 1 < b->n_blocks; i ^= 1) {
		tw_batch_cut_free(&s->cuts[i]);
		error = tw_batch_cut(&s->cuts[i], b, block + 1);
		if (!error)
			error = wait_turn(s, &s->cuts[i].head);
		s->time = end->time + 1;
		b = error ? NULL : tw_batch_cut_tail(&s->cuts[i]);
	}
	if (!error)
		error = wait_turn(s, b);
	if (!error && end)
		s->time = end->time + 1;
	return error;
}

static int is_selected(const struct ordered *o, size_t thread, size_t chunk)
{
	return !o->options->select || o->options->select(o->options->context, thread, chunk);
}

static int walk_chunk(struct source *s, size_t chunk)
{
	s->chunk = chunk;
	s->behind = 0;
	const struct tw_replay_options *options = s->o->options;
	int error = tw_recording_coded_chunk(s->o->recording, s->thread, chunk, &s->coded);
	if (!error) {
		error = tw_walk_read(s->walk, &s->coded, NULL);
		if (tw_walk_stopped(s->walk))
			return tw_walk_stopped(s->walk);
	}
	if (!error || error == TW_ERR_MEMORY || !options->damage)
		return error;
	return options->damage(options->context, s->thread, chunk, error);
}

static void run_thread(void *arg)
{
	struct source *s = arg;
	size_t n_chunks = tw_recording_thread(s->o->recording, s->thread)->n_chunks;
	for (size_t chunk = 0; chunk < n_chunks && !s->result; chunk++)
		if (is_selected(s->o, s->thread, chunk))
			s->result = walk_chunk(s, chunk);
	s->batch = NULL;
	tw_coroutine_switch(&s->here, &s->o->here);
}

static int start_thread(struct source *s)
{
	const struct tw_walk_options options = {
	    .programs = s->o->programs,
	    .xstate = &tw_recording_info(s->o->recording)->xstate,
	    .batch = hand_over,
	    .context = s,
	    .cut_at_times = 1,
	};
	s->walk = tw_walk_new(&options);
	s->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!s->walk || s->stack == MAP_FAILED)
		return tw_fail(TW_ERR_MEMORY, "thread %zu", s->thread);
	tw_coroutine_init(&s->here, s->stack, STACK_BYTES, run_thread, s);
	return 0;
}

static void end_thread(struct source *s)
{
	tw_walk_free(s->walk);
	tw_coded_chunk_release(&s->coded);
	if (s->stack && s->stack != MAP_FAILED)
		munmap(s->stack, STACK_BYTES);
	for (int i = 0; i < 2; i++)
		tw_batch_cut_free(&s->cuts[i]);
	s->walk = NULL;
	s->stack = NULL;
}

/* ---- whose turn it is ---- */

static void sift_down(struct ordered *o, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < o->n_heap; i = child) {
		if (child + 1 < o->n_heap && is_before(o->heap[child + 1], o->heap[child]))
			child++;
		if (!is_before(o->heap[child], o->heap[i]))
			return;
		struct source *s = o->heap[i];
		o->heap[i] = o->heap[child];
		o->heap[child] = s;
	}
}

static void sift_up(struct ordered *o, size_t i)
{
	for (; i && is_before(o->heap[i], o->heap[(i - 1) / 2]); i = (i - 1) / 2) {
		struct source *s = o->heap[i];
		o->heap[i] = o->heap[(i - 1) / 2];
		o->heap[(i - 1) / 2] = s;
	}
}

/* Has a thread come to its next batch, or to its end. */
static void go_on(struct source *s, int answer)
{
	s->answer = answer;
	tw_coroutine_switch(&s->o->here, &s->here);
}

/* Begins the threads whose turn could come next. */
static int begin_threads(struct ordered *o)
{
	while (o->begun < o->n_sources && (!o->n_heap || is_before(&o->sources[o->begun], o->heap[0]))) {
		struct source *s = &o->sources[o->begun++];
		int error = start_thread(s);
		if (error)
			return error;
		go_on(s, 0);
		o->heap[o->n_heap] = s;
		sift_up(o, o->n_heap++);
	}
	return 0;
}

/* The thread in front: processes its batch, and lets it continue to the next one. */
static int take_batch(struct ordered *o)
{
	struct source *s = o->heap[0];
	if (!s->batch) {
		int result = s->result;
		end_thread(s);
		o->heap[0] = o->heap[--o->n_heap];
		sift_down(o, 0);
		return result;
	}
	go_on(s, o->analyzer->batch(o->state, s->batch));
	sift_down(o, 0);
	return 0;
}

static int run_all(struct ordered *o)
{
	int error = begin_threads(o);
	while (!error && o->n_heap) {
		error = take_batch(o);
		if (!error)
			error = begin_threads(o);
	}
	return error;
}

/* ---- when threads begin ---- */

static int by_time(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : is_before(b, a);
}

static int list_sources(struct ordered *o)
{
	size_t n = tw_recording_n_threads(o->recording);
	struct tw_coded_chunk coded = {0};
	o->sources = calloc(n + 1, sizeof *o->sources);
	o->heap = calloc(n + 1, sizeof(struct source *));
	if (!o->sources || !o->heap)
		return tw_fail(TW_ERR_MEMORY, "list of threads");
	for (size_t t = 0; t < n; t++) {
		size_t chunk = 0, n_chunks = tw_recording_thread(o->recording, t)->n_chunks;
		while (chunk < n_chunks && !is_selected(o, t, chunk))
			chunk++;
		if (chunk < n_chunks)
			o->sources[o->n_sources++] = (struct source){.o = o, .thread = t, .time = first_time(o, t, chunk, &coded)};
	}
	tw_coded_chunk_release(&coded);
	if (tw_joins_read(&o->joins, o->recording))
		return tw_fail(TW_ERR_MEMORY, "list of threads");
	qsort(o->sources, o->n_sources, sizeof *o->sources, by_time);
	return 0;
}

static int compile(struct ordered *o)
{
	o->programs = tw_programs_new(TW_PROGRAMS_HOT, tw_recording_values(o->recording));
	return o->programs ? tw_programs_add_all(o->programs, o->recording) : tw_fail(TW_ERR_MEMORY, "descriptors");
}

static void free_ordered(struct ordered *o)
{
	for (size_t i = 0; i < o->begun; i++)
		end_thread(&o->sources[i]);
	free(o->sources);
	free(o->heap);
	tw_joins_free(&o->joins);
	tw_programs_free(o->programs);
}

int tw_replay_ordered(const struct tw_recording *r, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg)
{
	struct ordered o = {.recording = r, .options = options, .analyzer = analyzer, .state = analyzer->begin(arg)};
	if (!o.state)
		return tw_fail(TW_ERR_MEMORY, "%s", analyzer->name);
	int error = list_sources(&o);
	if (!error)
		error = compile(&o);
	if (!error)
		error = run_all(&o);
	char detail[512];
	snprintf(detail, sizeof detail, "%s", tw_recording_detail());
	int result = analyzer->end(o.state, error);
	free_ordered(&o);
	if (!error)
		return result;
	return error < 0 ? tw_fail(error, "%s", detail) : error;
}

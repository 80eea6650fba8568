#include "replay/ordered.h"
#include "recording/recording.h"
#include "replay/coroutine.h"
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

/* As batch() of an analyzer: hands it over, and goes on when its turn has come and it has been looked at. */
static int hand_over(void *context, const struct tw_batch *b)
{
	struct source *s = context;
	note_time(s, b);
	s->batch = b;
	tw_coroutine_switch(&s->here, &s->o->here);
	return s->answer;
}

static int is_selected(const struct ordered *o, size_t thread, size_t chunk)
{
	return !o->options->select || o->options->select(o->options->context, thread, chunk);
}

static int walk_chunk(struct source *s, size_t chunk)
{
	const struct tw_replay_options *options = s->o->options;
	int error = tw_recording_coded_chunk(s->o->recording, s->thread, chunk, &s->coded);
	if (!error) {
		error = tw_walk_coded(s->walk, &s->coded.chunk, s->coded.values, s->coded.n_values, NULL);
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

/* The thread in front: looks at its batch, and has it come to the next one. */
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

/* The time of the first event of a chunk; of one that cannot be read, 0. */
static uint64_t first_time(struct ordered *o, size_t thread, size_t chunk, struct tw_coded_chunk *coded)
{
	const struct tw_event_header *h = NULL;
	if (tw_recording_coded_chunk(o->recording, thread, chunk, coded))
		return 0;
	const struct tw_chunk *c = &coded->chunk;
	for (size_t at = 0; c->n_e - at >= sizeof *h; at += (sizeof *h + h->bytes + 7) & ~(size_t)7) {
		h = (const struct tw_event_header *)(c->e + at);
		if (!tw_event_valid(h, (const uint8_t *)(h + 1), c->n_e - at - sizeof *h))
			return 0;
		uint64_t time = tw_event_time(h->type, h + 1);
		if (time)
			return time;
	}
	return 0;
}

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

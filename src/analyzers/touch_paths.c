#include "analyzers/touch_paths.h"
#include "base/array.h"
#include "channel/machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <trackway/replay.h>

struct asked {
	const struct tw_context *context;
	struct tw_touch_moment *moments;
	size_t n;
	struct tw_callpaths *paths;
	pthread_mutex_t lock; /* of the paths */
};

struct state {
	struct asked *asked;
	struct tw_callpath path;
	uint32_t thread, image;
	size_t next; /* moment to come */
};

static int by_place(const void *a, const void *b)
{
	const struct tw_touch_moment *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->insn > y->insn) - (x->insn < y->insn);
}

static size_t first_of(const struct tw_touch_moment *moments, size_t n, uint32_t thread, uint64_t insn)
{
	const struct tw_touch_moment wanted = {.thread = thread, .insn = insn};
	return tw_array_before(&wanted, moments, n, sizeof wanted, by_place);
}

uint32_t tw_touch_path_of(const struct tw_touch_moment *moments, size_t n, uint32_t thread, uint64_t insn)
{
	size_t i = first_of(moments, n, thread, insn);
	return i < n && moments[i].thread == thread && moments[i].insn == insn ? moments[i].path : 0;
}

/* ---- the replay ---- */

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->asked = arg;
	s->thread = UINT32_MAX;
	return s;
}

static void free_state(struct state *s)
{
	tw_callpath_free(&s->path);
	free(s);
}

/* The thread stands before its instruction number `insn`. */
static void take_moments(struct state *s, uint64_t insn)
{
	struct asked *a = s->asked;
	while (s->next < a->n && a->moments[s->next].thread == s->thread && a->moments[s->next].insn <= insn) {
		pthread_mutex_lock(&a->lock);
		a->moments[s->next++].path = tw_callpath_number(&s->path, a->paths, s->image);
		pthread_mutex_unlock(&a->lock);
	}
}

static void begin_thread(struct state *s, uint32_t thread)
{
	tw_callpath_free(&s->path);
	s->path = (struct tw_callpath){0};
	s->thread = thread;
	s->image = tw_names_image(tw_context_names(s->asked->context), thread);
	s->next = first_of(s->asked->moments, s->asked->n, thread, 0);
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	const struct tw_block_run *run = tw_batch_blocks(b);
	uint64_t insn = b->first_insn;
	int error = 0;
	if (s->thread != b->thread)
		begin_thread(s, b->thread);
	for (size_t i = 0; i < b->n_blocks && !error; insn += run[i++].n_insns) {
		size_t end = i + 1 < b->n_blocks ? run[i + 1].first_ref : b->n_refs;
		take_moments(s, insn);
		error = tw_callpath_take(&s->path, &run[i], b->addr + run[i].first_ref, end - run[i].first_ref);
	}
	return error;
}

static int merge(void *state, void *later)
{
	(void)state;
	free_state(later);
	return 0;
}

static int end(void *state, int error)
{
	free_state(state);
	return error;
}

static int has_moments(void *context, size_t thread, size_t chunk)
{
	const struct asked *a = context;
	const struct tw_recording *r = tw_context_recording(a->context);
	uint32_t serial = tw_recording_thread(r, thread)->serial;
	size_t i = first_of(a->moments, a->n, serial, tw_recording_chunk_info(r, thread, chunk)->first_insn);
	return i < a->n && a->moments[i].thread == serial;
}

/* What is damaged has been told when the accesses were looked for. */
static int pass_over(void *context, size_t thread, size_t chunk, int error)
{
	(void)context;
	(void)thread;
	(void)chunk;
	(void)error;
	return 0;
}

int tw_touch_paths(const struct tw_context *c, struct tw_touch_moment *moments, size_t n, struct tw_callpaths *paths)
{
	static const struct tw_analyzer analyzer = {
	    .name = "touch", .begin = begin, .batch = batch, .merge = merge, .end = end, .scope = TW_SCOPE_THREADS};
	struct asked asked = {.context = c, .moments = moments, .n = n, .paths = paths, .lock = PTHREAD_MUTEX_INITIALIZER};
	const struct tw_replay_options options = {
	    .jobs = tw_machine_processors(), .select = has_moments, .damage = pass_over, .context = &asked};
	if (!n)
		return 0;
	qsort(moments, n, sizeof *moments, by_place);
	return tw_replay(tw_context_recording(c), &options, &analyzer, &asked);
}

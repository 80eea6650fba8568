#include "plugin/view_replay.h"

#include <stdlib.h>

/* What the states of a replay share. */
struct shared {
	struct tw_views *views;
	const struct tw_replay_options *options;
	const struct tw_analyzer *analyzer;
	void *arg;
};

/* The state of the analyzer around the one that is run. */
struct state {
	const struct shared *shared;
	void *inner;
	struct tw_viewer *viewer; /* NULL: all is seen */
};

static void free_state(struct state *s)
{
	tw_viewer_free(s->viewer);
	free(s);
}

static void *begin(void *arg)
{
	const struct shared *w = arg;
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->shared = w;
	s->inner = w->analyzer->begin(w->arg);
	s->viewer = s->inner && w->views ? tw_viewer_new(w->views, w->analyzer->batch, s->inner) : NULL;
	if (s->inner && (s->viewer || !w->views))
		return s;
	if (s->inner)
		w->analyzer->end(s->inner, TW_ERR_MEMORY);
	free(s);
	return NULL;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	return s->viewer ? tw_viewer_batch(s->viewer, b) : s->shared->analyzer->batch(s->inner, b);
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int result = s->shared->analyzer->merge(s->inner, from->inner);
	free_state(from);
	return result;
}

static int end(void *state, int error)
{
	struct state *s = state;
	int result = s->shared->analyzer->end(s->inner, error);
	free_state(s);
	return result;
}

static int is_seen(void *context, size_t thread, size_t chunk)
{
	const struct shared *w = context;
	const struct tw_replay_options *o = w->options;
	return (!w->views || tw_views_chunk(w->views, thread, chunk)) && (!o->select || o->select(o->context, thread, chunk));
}

static int pass_damage(void *context, size_t thread, size_t chunk, int error)
{
	const struct tw_replay_options *o = ((const struct shared *)context)->options;
	return o->damage(o->context, thread, chunk, error);
}

int tw_views_replay(struct tw_views *views, const struct tw_recording *r, const struct tw_replay_options *options,
                    const struct tw_analyzer *analyzer, void *arg)
{
	struct shared w = {views, options, analyzer, arg};
	const struct tw_analyzer around = {.name = analyzer->name,
	                                   .begin = begin,
	                                   .batch = batch,
	                                   .merge = merge,
	                                   .end = end,
	                                   .needs = analyzer->needs,
	                                   .scope = analyzer->scope};
	struct tw_replay_options own = *options;
	own.select = is_seen;
	own.damage = options->damage ? pass_damage : NULL;
	own.context = &w;
	return tw_replay(r, &own, &around, &w);
}

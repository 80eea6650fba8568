#include "cli/part.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>

/* The state of the analyzer that stands around the one that is run. */
struct state {
	struct tw_part *part;
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
	struct tw_part *p = arg;
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->part = p;
	s->inner = p->analyzer->begin(p->arg);
	s->viewer = s->inner && p->views ? tw_viewer_new(p->views, p->analyzer->batch, s->inner) : NULL;
	if (s->inner && (s->viewer || !p->views))
		return s;
	if (s->inner)
		p->analyzer->end(s->inner, TW_ERR_MEMORY);
	free(s);
	return NULL;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	return s->viewer ? tw_viewer_batch(s->viewer, b) : s->part->analyzer->batch(s->inner, b);
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int error = s->part->analyzer->merge(s->inner, from->inner);
	free_state(from);
	return error;
}

static int end(void *state, int error)
{
	struct state *s = state;
	int result = s->part->analyzer->end(s->inner, error);
	free_state(s);
	return result;
}

/* ---- what to replay ---- */

static int select_chunk(void *context, size_t thread, size_t chunk)
{
	const struct tw_part *p = context;
	const struct tw_thread_info *t = tw_recording_thread(p->recording, thread);
	const struct tw_view *view = &p->request.view;
	if ((view->has_thread && t->serial != view->thread) || (p->process >= 0 && t->pid != p->process))
		return 0;
	return !p->views || tw_views_chunk(p->views, thread, chunk);
}

static int pass_damage(void *context, size_t thread, size_t chunk, int error)
{
	const struct tw_replay_options *replay = ((const struct tw_part *)context)->replay;
	return replay->damage ? replay->damage(replay->context, thread, chunk, error) : error;
}

int tw_part_replay(void *part, const struct tw_recording *r, const struct tw_replay_options *replay, const struct tw_analyzer *analyzer,
                   void *arg)
{
	const struct tw_analyzer around = {
	    .name = "part", .begin = begin, .batch = batch, .merge = merge, .end = end, .needs = analyzer->needs, .scope = analyzer->scope};
	struct tw_part *p = part;
	struct tw_replay_options options = *replay;
	p->analyzer = analyzer;
	p->arg = arg;
	p->replay = replay;
	options.select = select_chunk;
	options.damage = pass_damage;
	options.context = p;
	return tw_replay(r, &options, &around, p);
}

/* ---- opening ---- */

static int has_thread(const struct tw_part *p)
{
	const struct tw_view *v = &p->request.view;
	return !v->has_thread || tw_recording_find_thread(p->recording, v->thread) < tw_recording_n_threads(p->recording);
}

static int has_process(const struct tw_part *p)
{
	for (size_t i = 0; i < tw_recording_n_threads(p->recording); i++)
		if (tw_recording_thread(p->recording, i)->pid == p->process)
			return 1;
	return p->process < 0;
}

int tw_part_open(struct tw_part *p, const char *command, const struct tw_recording *r)
{
	p->recording = r;
	if (!has_thread(p))
		return fprintf(stderr, "trackway %s: there is no thread %u in this recording\n", command, p->request.view.thread), 1;
	if (!has_process(p))
		return fprintf(stderr, "trackway %s: there is no process %lld in this recording\n", command, (long long)p->process), 1;
	if (!p->request.view.from.kind && !p->request.view.to.kind)
		return 0;
	p->context = tw_context_new(&p->request, r, NULL);
	p->views = p->context ? tw_views_new(p->context, &p->request.view, 0) : NULL;
	if (p->views)
		return 0;
	const char *why = p->context ? tw_context_complaint(p->context) : "";
	fprintf(stderr, "trackway %s: %s\n", command, *why ? why : "there is no memory");
	return 1;
}

void tw_part_close(struct tw_part *p)
{
	tw_views_free(p->views);
	tw_context_free(p->context);
}

int tw_part_is_all(const struct tw_part *p)
{
	return p->process < 0 && tw_view_is_all(&p->request.view);
}

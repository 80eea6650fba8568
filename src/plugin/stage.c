#include "plugin/stage.h"
#include "plugin/guard.h"
#include "plugin/view_replay.h"
#include "recording/recording.h"

#include <stdlib.h>

struct state {
	struct tw_stage *stage;
	const struct tw_analyzer *analyzer;
	struct tw_viewer *viewer; /* NULL: all is seen */
	void *inner;
};

static void free_state(struct state *s)
{
	tw_viewer_free(s->viewer);
	free(s);
}

static int fill_state(struct state *s, struct tw_stage *stage)
{
	const char *before = tw_guard_enter(stage->request->name);
	s->inner = s->analyzer->begin((void *)stage->context);
	tw_guard_enter(before);
	if (s->inner && stage->views)
		s->viewer = tw_viewer_new(stage->views, s->analyzer->batch, s->inner);
	return s->inner && (s->viewer || !stage->views);
}

static void *begin(void *arg)
{
	struct tw_stage *stage = arg;
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->stage = stage;
	s->analyzer = stage->request->analyzer;
	if (fill_state(s, stage))
		return s;
	if (s->inner)
		s->analyzer->end(s->inner, TW_ERR_MEMORY);
	free_state(s);
	return NULL;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	const char *before = tw_guard_enter(s->stage->request->name);
	int result = s->viewer ? tw_viewer_batch(s->viewer, b) : s->analyzer->batch(s->inner, b);
	tw_guard_enter(before);
	if (s->stage->insns_done)
		*s->stage->insns_done += b->n_insns;
	return result;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	const char *before = tw_guard_enter(s->stage->request->name);
	int result = s->analyzer->merge(s->inner, from->inner);
	tw_guard_enter(before);
	free_state(from);
	return result;
}

static int end(void *state, int error)
{
	struct state *s = state;
	if (s->stage->kept && !error) {
		*s->stage->kept = s;
		return 0;
	}
	const char *before = tw_guard_enter(s->stage->request->name);
	int result = s->analyzer->end(s->inner, error);
	tw_guard_enter(before);
	free_state(s);
	return result;
}

static int pack(const void *state, FILE *to)
{
	const struct state *s = state;
	const char *before = tw_guard_enter(s->stage->request->name);
	int result = s->analyzer->pack(s->inner, to);
	tw_guard_enter(before);
	return result;
}

static int unpack(void *state, FILE *from)
{
	struct state *s = state;
	const char *before = tw_guard_enter(s->stage->request->name);
	int result = s->analyzer->unpack(s->inner, from);
	tw_guard_enter(before);
	return result;
}

static uint64_t period(const void *arg)
{
	const struct tw_stage *stage = arg;
	const struct tw_analyzer *a = stage->request->analyzer;
	return a->period ? a->period(stage->context) : 0;
}

/* Which addresses the analyzer gets: with a range in the window, all of them. With any window, executions are looked at one by one. */
static uint32_t wishes_of(const struct tw_request *r)
{
	const uint32_t counts = tw_view_is_all(&r->view) ? TW_WANTS_COUNTS | TW_WANTS_LINES : 0;
	return r->view.range ? 0 : r->analyzer->needs & (TW_WANTS_NO_ADDRESSES | TW_WANTS_CALL_ADDRESSES | counts);
}

struct tw_analyzer tw_stage_analyzer(const struct tw_request *request)
{
	return (struct tw_analyzer){
	    .name = request->name,
	    .begin = begin,
	    .batch = batch,
	    .merge = merge,
	    .end = end,
	    .needs = wishes_of(request),
	    .scope = request->analyzer->scope,
	    .pack_version = request->analyzer->pack_version,
	    .pack = request->analyzer->pack ? pack : NULL,
	    .unpack = request->analyzer->unpack ? unpack : NULL,
	    .period = period,
	};
}

/* ---- a replay that an analyzer runs by itself ---- */

int tw_stage_replay(const struct tw_context *c, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg)
{
	const struct tw_view *view = &tw_context_request(c)->view;
	const struct tw_recording *r = tw_context_recording(c);
	if (tw_view_is_all(view))
		return tw_replay(r, options, analyzer, arg);
	struct tw_views *views = tw_views_new(c, view, analyzer->needs & TW_NEEDS_NO_CODE);
	if (!views)
		return tw_context_complaint(c)[0] ? 1 : TW_ERR_MEMORY;
	int error = tw_views_replay(views, r, options, analyzer, arg);
	tw_views_free(views);
	return error;
}

/* ---- what a recording lacks ---- */

/* Whether the code says how blocks end; that of an address stream does not. */
static int has_flow(const struct tw_recording *r)
{
	size_t n = tw_recording_n_descriptors(r);
	for (size_t i = 0; i < n; i++) {
		const struct tw_descriptor *d = tw_recording_descriptor_at(r, i);
		const struct tw_block *b = tw_descriptor_blocks(d);
		for (unsigned k = 0; k < d->n_blocks; k++)
			if (b[k].end != TW_END_UNKNOWN)
				return 1;
	}
	return !n;
}

const char *tw_stage_lacks_format(const struct tw_analyzer *analyzer, uint32_t format, int order)
{
	if ((analyzer->needs & TW_NEEDS_REFS) && !tw_format_has_refs(format))
		return "it needs references, which the recording does not have: record with -f dep";
	if ((analyzer->needs & TW_NEEDS_ORDER) && !order)
		return "it needs time stamps of locked instructions, which the recording does not have: record with --order";
	return format == TW_FORMAT_NONE ? "in format none nothing is recorded" : NULL;
}

const char *tw_stage_lacks(const struct tw_analyzer *analyzer, const struct tw_recording *r)
{
	const struct tw_recording_info *info = tw_recording_info(r);
	if ((analyzer->needs & TW_NEEDS_FLOW) && !has_flow(r))
		return "it needs the endings of blocks, which a recording of a bare address stream does not have";
	if ((analyzer->needs & TW_NEEDS_CALLS) && !info->calls[0])
		return "it needs function calls with their arguments, which the recording does not have: record with --calls";
	return tw_stage_lacks_format(analyzer, info->format, (int)info->order);
}

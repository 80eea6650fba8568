#include "cli/part.h"
#include "cli/cli.h"
#include "plugin/view_replay.h"

#include <stdio.h>

/* ---- what to replay ---- */

/* A replay of the part: its criteria besides the views, and the receiver of damage reports. */
struct replayed {
	const struct tw_part *part;
	const struct tw_replay_options *options;
};

static int select_chunk(void *context, size_t thread, size_t chunk)
{
	const struct tw_part *p = ((const struct replayed *)context)->part;
	const struct tw_thread_info *t = tw_recording_thread(p->recording, thread);
	const struct tw_view *view = &p->request.view;
	(void)chunk;
	return (!view->has_thread || t->serial == view->thread) && (p->process < 0 || t->pid == p->process);
}

static int pass_damage(void *context, size_t thread, size_t chunk, int error)
{
	const struct tw_replay_options *o = ((const struct replayed *)context)->options;
	return o->damage(o->context, thread, chunk, error);
}

int tw_part_replay(void *part, const struct tw_recording *r, const struct tw_replay_options *replay, const struct tw_analyzer *analyzer,
                   void *arg)
{
	const struct tw_part *p = part;
	struct replayed context = {p, replay};
	struct tw_replay_options options = *replay;
	options.select = select_chunk;
	options.damage = replay->damage ? pass_damage : NULL;
	options.context = &context;
	return tw_views_replay(p->views, r, &options, analyzer, arg);
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

/* The instructions of the view's thread, or of the thread that ran longest. */
static uint64_t longest(const struct tw_recording *r, const struct tw_view *view)
{
	uint64_t most = 0;
	for (size_t i = 0; i < tw_recording_n_threads(r); i++) {
		const struct tw_thread_info *t = tw_recording_thread(r, i);
		if ((!view->has_thread || t->serial == view->thread) && t->totals.insns > most)
			most = t->totals.insns;
	}
	return most;
}

void tw_part_tell_end(const char *command, const struct tw_recording *r, const struct tw_view *view)
{
	const uint64_t ns = tw_recording_info(r)->duration_ns, insns = view->from.kind == TW_WHERE_COUNT ? longest(r, view) : 0;
	if (view->from.kind == TW_WHERE_TIME && ns && view->from.value >= ns)
		fprintf(stderr, "%s %s: nothing ran after --from: the recording ends after %.3f s\n", tw_cli_program, command,
		        (double)ns / 1e9);
	if (view->from.kind == TW_WHERE_COUNT && view->from.value >= insns)
		fprintf(stderr, "%s %s: nothing ran after --from: %s ran %llu instructions\n", tw_cli_program, command,
		        view->has_thread ? "the thread" : "the longest thread", (unsigned long long)insns);
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
	tw_part_tell_end(command, r, &p->request.view);
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

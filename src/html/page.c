#include "html/page.h"
#include "analyzers/cct.h"
#include "analyzers/table.h"
#include "html/function_json.h"
#include "plugin/context.h"
#include "plugin/stage.h"
#include "replay/together.h"

#include <pthread.h>
#include <string.h>

/* ---- gathering ---- */

static int open_context(struct tw_page *p, const struct tw_names_options *naming)
{
	if (!tw_request_init(&p->request, &tw_analyzer_cct, "cct"))
		return TW_ERR_MEMORY;
	if (!tw_request_init(&p->cache_request, &tw_analyzer_cache, "cache"))
		return TW_ERR_MEMORY;
	if (naming)
		p->request.naming = *naming;
	p->cache_context = tw_context_new(&p->cache_request, p->recording, NULL);
	p->context = tw_context_new(&p->request, p->recording, NULL);
	p->names = p->context ? tw_context_names(p->context) : NULL;
	return p->names && p->cache_context ? 0 : TW_ERR_MEMORY;
}

static int go_on(void *context, size_t thread, size_t chunk, int error)
{
	(void)context, (void)thread, (void)chunk, (void)error;
	return 0;
}

/* The same replay without reports of damage, which the first one has reported. */
static struct tw_replay_options quietly(const struct tw_replay_options *replay)
{
	struct tw_replay_options quiet = *replay;
	quiet.damage = replay->damage ? go_on : NULL;
	return quiet;
}

/* The story also counts cache misses if the recording has references: caches are simulated in the order of time, on one processor. */
struct story_run {
	struct tw_page *page;
	struct tw_replay_options replay;
	pthread_t thread;
	int error;
};

static void *run_story(void *arg)
{
	struct story_run *s = arg;
	struct tw_page *p = s->page;
	struct tw_story_request request = {p->recording, &p->story};
	struct tw_together story = {&tw_story_analyzer, &request};
	s->error = p->has_misses ? tw_cache_run(p->cache_context, &s->replay, p->names, tw_replay_beside, &story, &p->misses)
	                         : tw_story_run(p->recording, &s->replay, &p->story);
	return NULL;
}

/* Replaces the profile's replay by one that the tree shares. */
static int run_tree(void *page, const struct tw_recording *r, const struct tw_replay_options *replay, const struct tw_analyzer *profile,
                    void *arg)
{
	struct tw_page *p = page;
	struct tw_together beside = {profile, arg};
	(void)r;
	return tw_cct_run(p->context, replay, NULL, tw_replay_beside, &beside, &p->calls.tree);
}

/* The tree with the profile is built thread by thread; it and the story have one processor each. */
static int run_all(struct tw_page *p, const struct tw_replay_options *replay)
{
	struct story_run story = {.page = p, .replay = quietly(replay)};
	p->has_calls = !tw_stage_lacks(&tw_analyzer_cct, p->recording);
	p->has_misses = !tw_stage_lacks(&tw_analyzer_cache, p->recording);
	int runs = !pthread_create(&story.thread, NULL, run_story, &story);
	int error = tw_listing_init(&p->listing, p->recording, p->names, replay, p->has_calls ? run_tree : NULL, p);
	if (runs)
		pthread_join(story.thread, NULL);
	else
		run_story(&story);
	error = error ? error : story.error;
	if (error || !p->has_calls)
		return error;
	tw_listing_drop_stubs(&p->listing);
	return tw_calltree_summarize(&p->calls);
}

int tw_page_open(struct tw_page *p, const struct tw_recording *r, const char *dir, const struct tw_names_options *naming,
                 const struct tw_replay_options *replay)
{
	const struct tw_recording_info *info = tw_recording_info(r);
	*p = (struct tw_page){.recording = r, .dir = dir, .ns_per_cycle = info->tsc_hz ? 1e9 / (double)info->tsc_hz : 0};
	int error = open_context(p, naming);
	return error ? error : run_all(p, replay);
}

void tw_page_close(struct tw_page *p)
{
	tw_story_free(p->story);
	tw_calltree_free(&p->calls);
	tw_listing_free(&p->listing);
	tw_cache_misses_free(&p->misses);
	tw_context_free(p->context);
	tw_request_free(&p->request);
	tw_context_free(p->cache_context);
	tw_request_free(&p->cache_request);
}

/* ---- asking ---- */

int tw_page_function(struct tw_page *p, FILE *f, size_t function)
{
	struct tw_compact c = {.f = f};
	if (function >= p->listing.n_functions)
		return 0;
	tw_function_json(&p->listing, &p->misses, &c, &p->listing.functions[function]);
	return 1;
}

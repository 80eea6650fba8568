#include "html/page.h"
#include "analyze/beside.h"
#include "analyzers/cct.h"
#include "analyzers/table.h"
#include "html/function_json.h"
#include "plugin/context.h"
#include "plugin/stage.h"

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

/* The same replay, which tells nothing of damage: the first one has told. */
static struct tw_replay_options quietly(const struct tw_replay_options *replay)
{
	struct tw_replay_options quiet = *replay;
	quiet.damage = replay->damage ? go_on : NULL;
	return quiet;
}

/* The tree is followed thread by thread: it gets a processor of its own. */
struct tree_run {
	struct tw_page *page;
	struct tw_replay_options replay;
	pthread_t thread;
	int error;
};

static void *run_tree(void *arg)
{
	struct tree_run *t = arg;
	t->error = tw_cct_run(t->page->context, &t->replay, NULL, NULL, NULL, &t->page->calls.tree);
	return NULL;
}

/* Caches are followed in the order of time, by one processor: first, so that all are at work at the end. The story goes with them, if they are there. */
static int run_story(struct tw_page *p, const struct tw_replay_options *replay)
{
	struct tw_story_request request = {p->recording, &p->story};
	struct tw_beside story = {&tw_story_analyzer, &request};
	if (!p->has_misses)
		return tw_story_run(p->recording, replay, &p->story);
	return tw_cache_run(p->cache_context, replay, p->names, tw_beside_replay, &story, &p->misses);
}

static int run_others(struct tw_page *p, const struct tw_replay_options *replay)
{
	struct tw_replay_options quiet = quietly(replay);
	int error = run_story(p, replay);
	return error ? error : tw_listing_init(&p->listing, p->recording, p->names, &quiet);
}

static int run_all(struct tw_page *p, const struct tw_replay_options *replay)
{
	struct tree_run tree = {.page = p, .replay = quietly(replay)};
	p->has_calls = !tw_stage_lacks(&tw_analyzer_cct, p->recording);
	p->has_misses = !tw_stage_lacks(&tw_analyzer_cache, p->recording);
	int runs = p->has_calls && !pthread_create(&tree.thread, NULL, run_tree, &tree);
	int error = run_others(p, replay);
	if (runs)
		pthread_join(tree.thread, NULL);
	else if (p->has_calls)
		run_tree(&tree);
	error = error ? error : tree.error;
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

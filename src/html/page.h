/*
 * A recording as a page to look at: summary, timeline, flame graph, functions with their code, memory over time, call
 * graph, blocks.
 *
 * The page is one file (assets/) with the recording's data in it as JSON; it needs no network and no server.
 * `trackway serve` serves the same page, which then requests the code of functions when needed (tw_page_function).
 *
 * Two replays make it: one for the calling-context tree (calltree.h) with the block profile (listing.h), one for the
 * story (story.h) with cache misses (cache_run.h).
 */
#ifndef TW_PAGE_H
#define TW_PAGE_H

#include "analyzers/cache_run.h"
#include "html/calltree.h"
#include "report/listing.h"
#include "html/story.h"
#include "plugin/request.h"

struct tw_page {
	const struct tw_recording *recording;
	const char *dir;
	struct tw_request request; /* of the tree */
	struct tw_context *context;
	struct tw_request cache_request; /* of the caches, as the analyzer has them by itself */
	struct tw_context *cache_context;
	struct tw_names *names; /* the context's */
	struct tw_listing listing;
	struct tw_calltree calls;
	struct tw_cache_misses misses;
	struct tw_story *story;
	int has_calls;       /* 0: the recording does not tell how blocks end */
	int has_misses;      /* 0: it has no references */
	double ns_per_cycle; /* 0: not known */
};

/* Limits for large recordings, so that a page opens at once. */
enum {
	TW_PAGE_FUNCTIONS = 4000, /* rows */
	TW_PAGE_LISTINGS = 400,   /* functions with their code */
	TW_PAGE_INSNS = 40000,    /* instructions of these */
	TW_PAGE_CONTEXTS = 12000, /* of the flame graph */
	TW_PAGE_BLOCKS = 3000,
	TW_PAGE_NAMES = 1000000, /* bytes of names of functions; of blocks half as many */
	TW_PAGE_CODE = 3000000,  /* bytes of code */
};

/* Does the necessary replays. 0 or an error; tw_page_close in any case. The recording and `dir` must stay valid. `naming` may be NULL. */
int tw_page_open(struct tw_page *p, const struct tw_recording *r, const char *dir, const struct tw_names_options *naming,
                 const struct tw_replay_options *replay);
void tw_page_close(struct tw_page *p);

/* The code of a function by its number in the page's list, as JSON. 0: no such function. */
int tw_page_function(struct tw_page *p, FILE *f, size_t function);

#endif

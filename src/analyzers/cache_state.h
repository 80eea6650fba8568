/*
 * cache: its state, for the part that simulates caches over a recording and for the part that reports misses.
 */
#ifndef TW_CACHE_STATE_H
#define TW_CACHE_STATE_H

#include "analyze/by_fragment.h"
#include "analyzers/cache_run.h"
#include "analyzers/cache_setup.h"
#include "analyzers/kept.h"
#include "analyzers/objects.h"
#include "analyzers/reuse.h"

/* What is counted for each instruction; for objects only up to TAKEN. */
enum {
	TW_CACHE_MISS,
	TW_CACHE_TAKEN = TW_CACHE_MISS + TW_CACHE_LEVELS,
	TW_CACHE_REFS,
	TW_CACHE_FETCH,
	TW_CACHE_FETCH_MISS,
	TW_CACHE_FETCH_MISS_LAST,
	TW_CACHE_COUNTS
};
_Static_assert((int)TW_CACHE_TAKEN < (int)TW_OBJECT_COUNTS, "there is room for all counts");

struct tw_cache_fragment {
	const struct tw_descriptor *descriptor;
	uint32_t thread; /* one that ran it */
	uint64_t count[][TW_CACHE_COUNTS];
};

struct tw_cache_totals {
	uint64_t reads, writes, fetches;
	uint64_t read_misses[TW_CACHE_LEVELS], write_misses[TW_CACHE_LEVELS], fetch_misses[TW_CACHE_LEVELS];
	uint64_t taken;
};

struct tw_cache_state {
	const struct tw_context *context;
	struct tw_cache_setup setup;
	struct tw_caches caches;
	uint64_t cores;          /* threads with this number have core 0 again; 0: each has its own */
	int as_cachegrind, code; /* code: what is executed is looked at */
	struct tw_by_fragment fragments;
	struct tw_kept_stretches kept; /* own: the fragment */
	struct tw_objects objects;
	struct tw_reuse reuse; /* sample 0: nobody asks */
	struct tw_cache_totals totals;
	struct tw_cache_misses *out; /* destination of misses in place of an answer; NULL: make an answer */
	uint32_t thread, program;
	uint64_t above;       /* of the program: what its lines' numbers begin with */
	struct tw_core *core; /* the thread's */
	uint64_t fetched;     /* line fetched last, by this core, and 1 */
};

/* The last level's misses, which are the first one's where there is but one. */
static inline unsigned tw_cache_last_miss(const struct tw_cache_state *s)
{
	return TW_CACHE_MISS + s->caches.n_levels - 1;
}

/* Lists the misses of each instruction in *s->out. 0 or TW_ERR_MEMORY. */
int tw_cache_list(struct tw_cache_state *s);

/* Tells what was missed. 0 or TW_ERR_MEMORY. */
int tw_cache_print(struct tw_cache_state *s);

#endif

/* Cache misses, instruction by instruction, for users that present them differently from the analyzer `cache`. */
#ifndef TW_CACHE_RUN_H
#define TW_CACHE_RUN_H

#include "analyze/hot.h"

#include <trackway/context.h>
#include <trackway/replay.h>

/* Of an instruction in one image: misses of the first level, and of the last one. */
struct tw_cache_miss {
	uint64_t pc;
	uint32_t image;
	uint64_t first, last;
};

struct tw_cache_misses {
	struct tw_names *names;
	struct tw_cache_miss *items; /* by image, then pc; those that missed */
	size_t n, room;
};

/*
 * Replays the recording of the context, which must belong to a request for tw_analyzer_cache. `names`: of the same
 * recording; `run` in place of tw_replay, if not NULL. 0 or an error; tw_cache_misses_free(out) in any case.
 */
int tw_cache_run(const struct tw_context *context, const struct tw_replay_options *replay, struct tw_names *names, tw_hot_replay *run,
                 void *run_context, struct tw_cache_misses *out);

/* Those of one instruction, or NULL: it has none. */
const struct tw_cache_miss *tw_cache_miss_of(const struct tw_cache_misses *m, uint32_t image, uint64_t pc);

void tw_cache_misses_free(struct tw_cache_misses *m);

#endif

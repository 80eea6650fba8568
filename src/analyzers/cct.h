/* The calling-context tree of a recording, for users that present it differently from the analyzer `cct`. */
#ifndef TW_CCT_H
#define TW_CCT_H

#include "analyze/hot.h"
#include "analyzers/contexts.h"

#include <trackway/replay.h>

/*
 * Replays the recording of the context, which must belong to a request for tw_analyzer_cct; `names` in place of the
 * context's, if not NULL; `run` in place of tw_replay, if not NULL, to see only a part of the execution. 0 or an
 * error; tw_context_tree_free(out) in any case. Names in the tree are those of `names`.
 */
int tw_cct_run(const struct tw_context *context, const struct tw_replay_options *replay, struct tw_names *names, tw_hot_replay *run,
               void *run_context, struct tw_context_tree *out);

#endif

/* The calling-context tree of a recording, for who shows it in another way than the analyzer `cct` does. */
#ifndef TW_CCT_H
#define TW_CCT_H

#include "analyzers/contexts.h"

#include <trackway/replay.h>

/* Replays the recording of the context, which is one of a request for tw_analyzer_cct. 0 or an error; tw_context_tree_free(out) in any case. */
int tw_cct_run(const struct tw_context *context, const struct tw_replay_options *replay, struct tw_context_tree *out);

#endif

/*
 * Several replays of parts of one recording: what replay derives from its code is made once, and what states keep of
 * it (numbered stretches) stays until the replayer is freed.
 */
#ifndef TW_REPLAYER_H
#define TW_REPLAYER_H

#include <trackway/replay.h>

struct tw_replayer;

/* 0 or an enum tw_error. The recording must stay. */
int tw_replayer_new(const struct tw_recording *r, struct tw_replayer **out);

/* Like tw_replay(), but not for analyzers of TW_SCOPE_ALL. By one thread at a time. */
int tw_replayer_run(struct tw_replayer *p, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg);

void tw_replayer_free(struct tw_replayer *p);

/*
 * A chunk that replays without an error, and holds what its header says; no batch of it is delivered. Returns as an
 * analyzer's batch() does.
 */
struct tw_good_chunks {
	int (*take)(void *state, const struct tw_chunk *chunk);
};

/*
 * Like tw_replay(), for callers that only want to know which chunks are good, which takes much less time. Any chunk
 * may nevertheless be delivered in batches.
 */
int tw_replay_good(const struct tw_recording *r, const struct tw_replay_options *options, const struct tw_analyzer *analyzer,
                   const struct tw_good_chunks *good, void *arg);

#endif

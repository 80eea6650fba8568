/*
 * Several replays of one recording, a part of it each: what replay makes of its code is made once, and what states keep of it (the stretches that have a number) stays
 * until the replayer is freed.
 */
#ifndef TW_REPLAYER_H
#define TW_REPLAYER_H

#include <trackway/replay.h>

struct tw_replayer;

/* 0 or an enum tw_error. The recording must stay. */
int tw_replayer_new(const struct tw_recording *r, struct tw_replayer **out);

/* As tw_replay(), but for analyzers of TW_SCOPE_ALL, which it is not for. By one thread at a time. */
int tw_replayer_run(struct tw_replayer *p, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg);

void tw_replayer_free(struct tw_replayer *p);

/* A chunk that replays without an error, and holds what its header says; no batch of it is delivered. Returns as an analyzer's batch() does. */
struct tw_good_chunks {
	int (*take)(void *state, const struct tw_chunk *chunk);
};

/* As tw_replay(), for who wants to know of good chunks only that they are, which takes much less time. Any chunk may be delivered in batches all the same. */
int tw_replay_good(const struct tw_recording *r, const struct tw_replay_options *options, const struct tw_analyzer *analyzer,
                   const struct tw_good_chunks *good, void *arg);

#endif

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

#endif

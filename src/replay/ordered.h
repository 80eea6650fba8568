/*
 * Replay of all threads in time order, for analyzers of TW_SCOPE_ALL.
 *
 * A batch ends before each event that has a time, so it starts at that time or, if it was cut because it was full, at
 * the time of the batch before. The thread whose next batch starts first always continues; of several, the one with
 * the lowest serial number. Each running thread is walked by a coroutine, which yields with each batch.
 */
#ifndef TW_REPLAY_ORDERED_H
#define TW_REPLAY_ORDERED_H

#include <trackway/replay.h>

/* Like tw_replay; `jobs`, `grain` and `longest_first` are ignored. The recording must be replayable. */
int tw_replay_ordered(const struct tw_recording *r, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg);

#endif

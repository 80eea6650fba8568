/*
 * Replay of all threads in the order of time, for an analyzer of TW_SCOPE_ALL.
 *
 * A batch ends before each event that has a time, so that it begins at that time or, where it was cut because it was full, at that of the batch before. Always the
 * thread whose next batch begins first goes on; of several, the one with the lowest serial number. Each thread that has begun and not ended is walked by a
 * coroutine, which gives control back with each batch.
 */
#ifndef TW_REPLAY_ORDERED_H
#define TW_REPLAY_ORDERED_H

#include <trackway/replay.h>

/* As tw_replay; `jobs`, `grain` and `longest_first` are not looked at. The recording can be replayed. */
int tw_replay_ordered(const struct tw_recording *r, const struct tw_replay_options *options, const struct tw_analyzer *analyzer, void *arg);

#endif

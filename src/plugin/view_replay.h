/*
 * Replays of a view: a part of a recording, or what a window shows of it.
 */
#ifndef TW_VIEW_REPLAY_H
#define TW_VIEW_REPLAY_H

#include "plugin/view.h"

#include <trackway/replay.h>

/*
 * As tw_replay, but that the analyzer sees only what `views` shows (NULL: all), and that `options->select` is asked only of chunks that may have some of it. Where that goes by addresses, the
 * analyzer wants all of them (enum tw_needs).
 */
int tw_views_replay(struct tw_views *views, const struct tw_recording *r, const struct tw_replay_options *options,
                    const struct tw_analyzer *analyzer, void *arg);

#endif

/*
 * Replays through a view: a part of a recording, or what a window shows of it.
 */
#ifndef TW_VIEW_REPLAY_H
#define TW_VIEW_REPLAY_H

#include "plugin/view.h"

#include <trackway/replay.h>

/*
 * As tw_replay, but the analyzer sees only what `views` shows (NULL: everything), and `options->select` is asked only
 * about chunks that may contain some of it. If the view goes by addresses, the analyzer must want all of them (enum
 * tw_needs).
 */
int tw_views_replay(struct tw_views *views, const struct tw_recording *r, const struct tw_replay_options *options,
                    const struct tw_analyzer *analyzer, void *arg);

#endif

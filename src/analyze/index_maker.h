/*
 * Makes entries of a recording's index (recording/index.h): replays chunks and records for each the lines of memory
 * that were read, written and executed, and the times of its events.
 */
#ifndef TW_INDEX_MAKER_H
#define TW_INDEX_MAKER_H

#include "recording/index.h"

/*
 * Replays the chunks selected by `select` (as in struct tw_replay_options), with `jobs` threads, and adds the results
 * to the index. A damaged chunk gets no entry. Meanwhile nobody may read the index. Returns 0 or an error.
 */
int tw_index_make(const struct tw_recording *r, struct tw_index *index, unsigned jobs,
                  int (*select)(void *context, size_t thread, size_t chunk), void *context);

#endif

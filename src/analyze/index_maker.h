/*
 * Makes entries of a recording's index (recording/index.h): replays chunks and keeps of each the lines of memory that were read, written and executed, and when
 * its events were.
 */
#ifndef TW_INDEX_MAKER_H
#define TW_INDEX_MAKER_H

#include "recording/index.h"

/*
 * Replays the chunks that `select` (as in struct tw_replay_options) wants, with `jobs` threads, and adds what it finds to the index. A chunk that is damaged gets
 * no entry. Meanwhile nobody may read the index. Returns 0 or an error.
 */
int tw_index_make(const struct tw_recording *r, struct tw_index *index, unsigned jobs,
                  int (*select)(void *context, size_t thread, size_t chunk), void *context);

#endif

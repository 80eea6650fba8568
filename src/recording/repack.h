/*
 * Rewriting a recording with another coder: the same trace, the same chunks and blocks, in other zstd frames. Damaged
 * parts are copied unchanged.
 */
#ifndef TW_REPACK_H
#define TW_REPACK_H

#include "recording/recording.h"

/* Kind of frames: fast, as the recorder makes them while a program runs, or as small as possible. */
enum tw_coder { TW_CODER_FAST, TW_CODER_SMALL };

/*
 * Writes all files of an open recording, except its index, which is made again when needed, to an empty directory.
 * *totals: those of the new one.
 */
int tw_repack(const struct tw_recording *r, const char *to, enum tw_coder coder, struct tw_totals *totals);

#endif

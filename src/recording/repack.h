/*
 * A recording written anew by another coder: the same trace, the same chunks and blocks, in other zstd frames. What is damaged is copied as it is.
 */
#ifndef TW_REPACK_H
#define TW_REPACK_H

#include "recording/recording.h"

/* What frames are like: as the recorder makes them while a program runs, or as small as they come. */
enum tw_coder { TW_CODER_FAST, TW_CODER_SMALL };

/* Writes all files of an open recording, but for its index, which is made again when it is of use, to an empty directory. *totals: those of the new one. */
int tw_repack(const struct tw_recording *r, const char *to, enum tw_coder coder, struct tw_totals *totals);

#endif

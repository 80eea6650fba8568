/* Recordings packed anew in their place: trackway pack, record --small. */
#ifndef TW_CLI_PACK_H
#define TW_CLI_PACK_H

#include "recording/repack.h"

/*
 * Replaces the recording in `dir`, which nobody is writing, by a new one of the same trace, in one step. *totals: its
 * contents. On an enum tw_error, the recording is unchanged.
 */
int tw_pack_in_place(const char *dir, enum tw_coder coder, struct tw_totals *totals);

#endif

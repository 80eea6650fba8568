/*
 * The walk through one buffer, record by record: what it holds goes to a chunk, and is counted.
 */
#ifndef TW_DEMUX_WALK_H
#define TW_DEMUX_WALK_H

#include "channel/demux_state.h"

/* Begins at the start of the buffer; the arrays of *chunk have room for all of it. */
void tw_demux_walk_begin(struct tw_demux_walk *w, struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk);

/*
 * Takes the record at w->p, usually not a plain fragment's, which have a faster path. Returns 1 to continue, 0 at the
 * end, or an error with nothing taken.
 */
int tw_demux_walk_other(struct tw_demux_walk *w);

/* *chunk has what has been walked. */
void tw_demux_walk_end(const struct tw_demux_walk *w, struct tw_chunk *chunk);

#endif

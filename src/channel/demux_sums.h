/*
 * Counts of one execution, from its operations, if its table entry does not have them: dynamic ones, loops, and those
 * that stopped early.
 */
#ifndef TW_DEMUX_SUMS_H
#define TW_DEMUX_SUMS_H

#include "channel/demux_state.h"

/* n references of this type. */
void tw_demux_count_refs(struct tw_demux_walk *w, uint64_t n, unsigned type);

/* The REP and LANES operations of a whole execution; its other counts are in the entry. */
void tw_demux_count_dynamic(struct tw_demux_walk *w, const struct tw_descriptor *d, const uint64_t *values);

/* n turns of a loop. */
void tw_demux_count_loop(struct tw_demux_walk *w, const struct tw_demux_entry *e, uint64_t n);

/* Everything about an execution that stopped early (w->partial). */
void tw_demux_count_partial(struct tw_demux_walk *w, const struct tw_descriptor *d, const uint64_t *values);

#endif

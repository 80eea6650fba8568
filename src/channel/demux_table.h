/*
 * The table of fragments by number: what an execution of each counts for, how long its record is, and, if nothing is
 * kept, how often it has run.
 */
#ifndef TW_DEMUX_TABLE_H
#define TW_DEMUX_TABLE_H

#include "channel/demux_state.h"

/* The counters of an upper half. NULL: no memory. */
struct tw_demux_counter *tw_demux_counters(struct tw_demux *d, uint32_t upper);

/* Adds the contents of this counter, of a fragment with this entry, to *t, and resets it. */
void tw_demux_empty_counter(struct tw_totals *t, const struct tw_demux_entry *e, struct tw_demux_counter *n);

#endif

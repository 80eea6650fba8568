/*
 * Stopping at a count of instructions: what comes after that is left out of the chunk, as if the window had closed there.
 */
#ifndef TW_DEMUX_STOP_H
#define TW_DEMUX_STOP_H

#include "channel/demux_state.h"

/* Has the thread stopped? */
static inline int tw_demux_is_past(const struct tw_demux_walk *w)
{
	return w->stop && (w->stop->told || tw_demux_insns(w) >= w->stop->insns);
}

/* How many of a loop's n executions there are until then. */
uint64_t tw_demux_loops_left(const struct tw_demux_walk *w, const struct tw_demux_entry *e, uint64_t n);

/* The stream says that nothing is recorded from here on; `pc` is the next instruction's, 0 if it is not known. */
void tw_demux_tell_stop(struct tw_demux_walk *w, uint64_t pc);

/* Is it one of the events that are written while a window is closed too (src/engine/record/buffer.h), or of those that belong to what ran just before it was? */
int tw_demux_is_kept(const struct tw_demux_walk *w, uint16_t type);

#endif

/*
 * Stopping at an instruction count: what comes after that is left out of the chunk, as if the window had closed
 * there.
 */
#ifndef TW_DEMUX_STOP_H
#define TW_DEMUX_STOP_H

#include "channel/demux_state.h"

/* Has the thread stopped? */
static inline int tw_demux_is_past(const struct tw_demux_walk *w)
{
	return w->stop && (w->stop->told || tw_demux_insns(w) >= w->stop->insns);
}

/* How many of a loop's n executions remain until then. */
uint64_t tw_demux_loops_left(const struct tw_demux_walk *w, const struct tw_demux_entry *e, uint64_t n);

/* Writes that nothing is recorded from here on; `pc` is the next instruction's, 0 if not known. */
void tw_demux_tell_stop(struct tw_demux_walk *w, uint64_t pc);

/*
 * Is it an event that is also written while a window is closed (src/engine/record/buffer.h), or one that belongs to
 * what ran just before?
 */
int tw_demux_is_kept(const struct tw_demux_walk *w, uint16_t type);

#endif

/*
 * Threads that only compute: what one has written in loops whose turns are counted may stand in its buffer for long. The collector asks such a thread to hand it over
 * (base/channel.h, enum tw_slot_ask), so that a disk that fills, or a collector that is killed, costs little of it.
 */
#ifndef TW_OVERDUE_H
#define TW_OVERDUE_H

#include "channel/liveness.h"

/* What the collector remembers of the thread in a slot. All 0 to begin with. */
struct tw_overdue {
	int began;
	uint32_t current; /* the buffer it wrote, and what it had computed then, in clock ticks */
	uint64_t cpu;
};

/* Asks the thread of this slot, as *seen has just found it, if it has computed for a fifth of a second in one buffer and does so now. One that somebody traces is not asked: he would see it. */
void tw_overdue_look(struct tw_slot *slot, const struct tw_seen *seen, struct tw_overdue *o);

#endif

/*
 * Threads that only compute: what such a thread has written in counted loops may be in its buffer for long. The
 * collector asks it to hand the buffer over (base/channel.h, enum tw_slot_ask), so that a full disk, or a killed
 * collector, costs little of it.
 */
#ifndef TW_OVERDUE_H
#define TW_OVERDUE_H

#include "channel/liveness.h"

/* What the collector remembers of the thread in a slot. All 0 to begin with. */
struct tw_overdue {
	int began;
	uint32_t current; /* its current buffer, and its processor time at the start of that, in clock ticks */
	uint64_t cpu;
};

/*
 * Asks the thread of this slot, as *seen has just found it, if it has computed for a fifth of a second in one buffer
 * and is still computing. A traced thread is not asked: its tracer would see it.
 */
void tw_overdue_look(struct tw_slot *slot, const struct tw_seen *seen, struct tw_overdue *o);

#endif

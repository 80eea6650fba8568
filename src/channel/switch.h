/*
 * Which version programs in two versions run (base/channel.h: struct tw_version_switch; cc/twice.h): the recording
 * one within the time window, in bursts within that, or within a budget. For a window from function to function the
 * program itself decides (cc/runtime/places.c); then this does what is left.
 *
 * The collector keeps the budget of such programs (record --budget): the programs do not look at it. It charges
 * records and their bytes, at the maximum cost over the programs on which this was measured (docs/cc.md), but no more
 * than the CPU time that their processes took meanwhile; and what the recorder itself took from them (displaced.h).
 * The ratio of records to bytes is known from the counted ones. The figures are in the channel (struct
 * tw_budget_control).
 */
#ifndef TW_CHANNEL_SWITCH_H
#define TW_CHANNEL_SWITCH_H

#include "base/channel.h"
#include "channel/burst.h"

struct tw_switching;

/* NULL: no memory. `base`: where the channel is mapped. It is on unless the window starts later. */
struct tw_switching *tw_switching_new(void *base, const struct tw_burst *burst);
void tw_switching_free(struct tw_switching *s);

/* Counts of the buffers taken from threads so far. */
struct tw_switched {
	uint64_t bytes, records;
};

/*
 * Checks whether it is time to switch, this many ns after the recording's start. *next becomes at most the time until
 * the next call is needed.
 */
void tw_switching_look(struct tw_switching *s, uint64_t passed, const struct tw_switched *done, uint64_t *next);

#endif

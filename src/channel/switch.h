/*
 * Which version programs in two versions run (base/channel.h: struct tw_version_switch; cc/twice.h): within the window of times the one that records, and of that in bursts, or within a budget. Where the
 * window is from function to function the program itself finds out (cc/runtime/places.c); then this does what is left.
 *
 * The budget of such programs (record --budget) is the collector's to keep: the programs do not look at it. What it charges for is records and their bytes, at what they cost the dearest of
 * the programs that it was measured on (docs/cc.md), and no more than the CPU time that their processes took meanwhile; and what the recorder itself took from them (displaced.h). How many records are in the bytes is known of those that were counted. Its figures are those of the channel (struct tw_budget_control).
 */
#ifndef TW_CHANNEL_SWITCH_H
#define TW_CHANNEL_SWITCH_H

#include "base/channel.h"
#include "channel/burst.h"

struct tw_switching;

/* NULL: there is no memory. `base`: where the channel is mapped. It is on unless the window begins later. */
struct tw_switching *tw_switching_new(void *base, const struct tw_burst *burst);
void tw_switching_free(struct tw_switching *s);

/* Of the buffers that have been taken from threads so far. */
struct tw_switched {
	uint64_t bytes, records;
};

/*
 * Looks whether it is time to switch, so many ns after the recording's start. *next becomes no more than the time until it is to be
 * called again.
 */
void tw_switching_look(struct tw_switching *s, uint64_t passed, const struct tw_switched *done, uint64_t *next);

#endif

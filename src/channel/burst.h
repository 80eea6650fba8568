/*
 * When programs in two versions run the recording one (base/channel.h: tw_channel_switch): within the time window,
 * and in bursts within that, if requested.
 */
#ifndef TW_BURST_H
#define TW_BURST_H

#include <stdint.h>

/* In ns; `every` 0: all the time. */
struct tw_burst {
	uint64_t on, every;
};

/* Is it on, this long after the window opened? *next becomes at most the time until that changes. */
static inline int tw_burst_is_on(const struct tw_burst *b, uint64_t passed, uint64_t *next)
{
	if (!b->every)
		return 1;
	const uint64_t within = passed % b->every, left = within < b->on ? b->on - within : b->every - within;
	*next = left < *next ? left : *next;
	return within < b->on;
}

#endif

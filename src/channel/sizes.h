/*
 * Choosing the sizes of the channel and the engine (base/sizes.h).
 */
#ifndef TW_CHOOSE_SIZES_H
#define TW_CHOOSE_SIZES_H

#include "base/channel.h"

/* What there is. TW_UNLIMITED: as much as one likes. */
struct tw_limits {
	uint64_t space, data; /* for the engine */
	uint64_t file;        /* for the memfd */
	bool tallies;         /* windows are wanted: they exist only if nothing is limited */
	bool many_buffers;    /* a thread rarely has to make way for the collector: likewise */
};

/* Chooses. False: not enough; *s is then the minimum. */
bool tw_sizes_choose(struct tw_sizes *s, const struct tw_limits *limits);

#endif

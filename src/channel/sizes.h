/*
 * Choosing how large the channel and the engine are (base/sizes.h).
 */
#ifndef TW_CHOOSE_SIZES_H
#define TW_CHOOSE_SIZES_H

#include "base/channel.h"

/* What there is. TW_UNLIMITED: as much as one likes. */
struct tw_limits {
	uint64_t space, data; /* for the engine */
	uint64_t file;        /* for the memfd */
	bool tallies;         /* windows are wanted: they are there only if nothing is limited */
	bool many_buffers;    /* a thread seldom has to make way for who empties them: likewise */
};

/* Chooses. False: it is not enough; *s is the least then. */
bool tw_sizes_choose(struct tw_sizes *s, const struct tw_limits *limits);

#endif

/*
 * Bursts of record --burst and --every: of a program that trackway cc has compiled in two versions, so much is recorded each so often.
 */
#ifndef TW_CLI_BURST_H
#define TW_CLI_BURST_H

#include "channel/burst.h"

struct tw_burst_asked {
	const char *burst, *every; /* as given; NULL: not */
	struct tw_burst in_ns;
};

/* 0: the two go together. Else it has been said what is wrong, and this is the exit status. */
int tw_burst_check(struct tw_burst_asked *asked);

#endif

/*
 * Bursts of record --burst and --every: periodic recording of so much of a program that trackway cc has compiled in
 * two versions.
 */
#ifndef TW_CLI_BURST_H
#define TW_CLI_BURST_H

#include "channel/burst.h"

struct tw_burst_asked {
	const char *burst, *every; /* as given; NULL: not */
	struct tw_burst in_ns;
};

/* 0: the two options fit together. Else an error has been reported, and this is the exit status. */
int tw_burst_check(struct tw_burst_asked *asked);

#endif

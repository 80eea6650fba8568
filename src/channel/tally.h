/*
 * The collector's end of tallies (src/engine/record/tally.h): adds up what a thread has counted in its slot's window.
 *
 * By the drain loop only.
 */
#ifndef TW_CHANNEL_TALLY_H
#define TW_CHANNEL_TALLY_H

#include "channel/descriptor_tables.h"

/* One slot, whose thread has ended, or is running: then what it counts meanwhile may be missing. */
struct tw_tally_input {
	const struct tw_descriptor_tables *tables; /* the descriptors of its program have been taken */
	struct tw_control *control;
	int fd;        /* of the channel... */
	uint8_t *base; /* ...and where it is mapped */
	uint32_t slot;
};

/*
 * Sets *out to the executions counted and the raw bytes of their records. The other bytes written - changes of upper
 * halves, and iteration counts of loops - count to TW_STREAM_C. TW_ERR_DAMAGED if an entry belongs to no path: the
 * others are added all the same. TW_ERR_SYSTEM.
 */
int tw_tally_take(const struct tw_tally_input *in, struct tw_totals *out);

/* The window is zeros again, and takes no memory. */
int tw_tally_clear(const struct tw_tally_input *in);

#endif

/*
 * What has been seen of stretches that repeat (struct tw_stretch): most code does what it did before, so there is
 * nothing new to see.
 */
#ifndef TW_LEARN_WAYS_H
#define TW_LEARN_WAYS_H

#include <stddef.h>
#include <stdint.h>

/* Of one stretch. All zeros: it has not been seen. */
struct tw_way {
	uint64_t end;     /* the end of its last block; 0: what came next did not follow it */
	uint32_t image1;  /* the image that this is of, from 1 */
	uint32_t next[2]; /* numbers of stretches that came next, the later one first; 0: none */
	uint8_t end_is;   /* enum tw_end */
};

/* All zeros: of none. */
struct tw_ways {
	struct tw_way *of; /* by the stretch's number */
	size_t room;
};

/* The entry of the stretch with this number, valid until the next call. NULL: no memory. */
struct tw_way *tw_ways_of(struct tw_ways *w, uint32_t number);
void tw_ways_free(struct tw_ways *w);

#endif

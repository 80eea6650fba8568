/* What is changed in the streams of a chunk. */
#ifndef TW_TEST_EVENTS_H
#define TW_TEST_EVENTS_H

#include "change.h"

/* Of the bytes of the E stream. */
void change_events(struct tw_bytes *e);

/* Of the chunk's tags and values, which are then coded: C and M of *out, which is good until the next call. Else an enum tw_error. */
int change_executions(const struct tw_recording *r, const struct tw_chunk *chunk, struct tw_coded **out);

#endif

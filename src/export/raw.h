/*
 * The streams of a chunk as they are: tags with the values that belong to them, and events.
 */
#ifndef TW_RAW_H
#define TW_RAW_H

#include "base/text.h"

#include <trackway/recording.h>

/* Prints as much as can be made sense of. Returns TW_ERR_FRAGMENT or TW_ERR_STREAM where that ends early. */
int tw_raw_print(struct tw_text *t, const struct tw_recording *r, const struct tw_chunk *chunk);

#endif

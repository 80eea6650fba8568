/*
 * The raw streams of a chunk: tags with their values, and events.
 */
#ifndef TW_RAW_H
#define TW_RAW_H

#include "base/text.h"

#include <trackway/recording.h>

/* Prints what can be understood. Returns TW_ERR_FRAGMENT or TW_ERR_STREAM if that ends early. */
int tw_raw_print(struct tw_text *t, const struct tw_recording *r, const struct tw_chunk *chunk);

#endif

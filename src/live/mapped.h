/*
 * The events about how a program's memory is mapped: analyzers that run live keep no buffers, but code made by a
 * program is named after its mapping.
 */
#ifndef TW_MAPPED_H
#define TW_MAPPED_H

#include <trackway/recording.h>

/* Copies these events, in order, to a place with room for all the chunk's n_e bytes. Returns the number of bytes copied. */
size_t tw_mapped_events(const struct tw_chunk *chunk, uint8_t *to);

#endif

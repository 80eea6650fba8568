/*
 * What tells how a program's memory is mapped, of its events: analyzers that look at buffers as they come keep no buffers, but code that a program makes has a name by the mapping that it is in.
 */
#ifndef TW_MAPPED_H
#define TW_MAPPED_H

#include <trackway/recording.h>

/* Copies the events that tell it, in their order, where a chunk's n_e bytes have room. Returns how many bytes these are. */
size_t tw_mapped_events(const struct tw_chunk *chunk, uint8_t *to);

#endif

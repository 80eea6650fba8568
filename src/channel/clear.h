/*
 * Clearing parts of the channel that the collector has read: they must be zero again for the next writer, and, if
 * that may take a while, take no memory.
 */
#ifndef TW_CLEAR_H
#define TW_CLEAR_H

#include "base/channel.h"

/* How far nonzero bytes may extend in the data part of a buffer of which this much was used (struct tw_slot). */
uint32_t tw_clear_reach(uint32_t bytes);

/* Such a buffer. It keeps its memory. */
void tw_clear_buffer(uint8_t *data, uint32_t bytes, uint32_t slack_end);

/* Releases memory of the memfd from `at` on, in whole pages. Mappings read zeros there. TW_ERR_SYSTEM. */
int tw_clear_range(int fd, uint64_t at, uint64_t bytes);

#endif

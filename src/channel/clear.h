/*
 * Parts of the channel that the collector has read: zeros again, as who writes there next expects them, and, where that may not be soon, without memory.
 */
#ifndef TW_CLEAR_H
#define TW_CLEAR_H

#include "base/channel.h"

/* How far what is not zero may reach in the data part of a buffer of which so much has been used (struct tw_slot). */
uint32_t tw_clear_reach(uint32_t bytes);

/* Such a buffer. It keeps its memory. */
void tw_clear_buffer(uint8_t *data, uint32_t bytes, uint32_t slack_end);

/* Gives memory back: of the memfd from `at` on, in whole pages. Who has it mapped finds zeros. TW_ERR_SYSTEM. */
int tw_clear_range(int fd, uint64_t at, uint64_t bytes);

#endif

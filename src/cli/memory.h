/*
 * Mappings of a recording's processes, as `trackway info` shows them: a list of data mappings, or what was at an
 * address.
 */
#ifndef TW_MEMORY_H
#define TW_MEMORY_H

#include "report/json.h"
#include <trackway/recording.h>

/* Lists at most `most` data mappings and the number of further ones; 0: all. 0 or TW_ERR_MEMORY. */
int tw_memory_print(const struct tw_recording *r, size_t most);

/* Everything that was at an address at any time, with its variable, if any. 0, TW_ERR_MEMORY, or 1: nothing was. */
int tw_memory_print_address(const struct tw_recording *r, uint64_t address);

/* The member "mappings" of the open object: all mappings, including code; or (`address`) those that contain it. 0 or TW_ERR_MEMORY. */
int tw_memory_json(struct tw_json *j, const struct tw_recording *r, const uint64_t *address);

#endif

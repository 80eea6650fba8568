/*
 * What was mapped in a recording's processes, as `trackway info` shows it: the data in a list, or what was at an address.
 */
#ifndef TW_MEMORY_H
#define TW_MEMORY_H

#include "report/json.h"
#include <trackway/recording.h>

/* Data mappings: at most `most` of them, and how many more there are; 0: all. 0 or TW_ERR_MEMORY. */
int tw_memory_print(const struct tw_recording *r, size_t most);

/* All that ever was at an address, with its variable, if it is one. 0, TW_ERR_MEMORY, or 1: nothing was. */
int tw_memory_print_address(const struct tw_recording *r, uint64_t address);

/* As member "mappings" of the object that is open: all, code too; or (`address`) those that hold it. 0 or TW_ERR_MEMORY. */
int tw_memory_json(struct tw_json *j, const struct tw_recording *r, const uint64_t *address);

#endif

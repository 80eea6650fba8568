/*
 * Buffers that the kernel reads or fills for a call that is recorded with its arguments: write, read and similar.
 */
#ifndef TW_KERNEL_BUFFERS_H
#define TW_KERNEL_BUFFERS_H

#include "analyzers/calling.h"

/* `bytes` is not 0. A nonzero result ends the walk. */
typedef int tw_kernel_buffer(void *context, uint64_t addr, uint64_t bytes, int is_filled);

/*
 * Calls f for each buffer of a step of a call: on entry for what the kernel reads, on exit for what it has filled.
 * Reads count with the requested size, fills with the size in the result. Returns 0 or what f returned.
 */
int tw_kernel_buffers(const struct tw_calling_step *step, tw_kernel_buffer *f, void *context);

#endif

/*
 * Buffers that the kernel reads or fills for a call that is recorded with its arguments: write, read and their kin.
 */
#ifndef TW_KERNEL_BUFFERS_H
#define TW_KERNEL_BUFFERS_H

#include "analyzers/calling.h"

/* `bytes` is not 0. What it returns, where that is not 0, ends the walk. */
typedef int tw_kernel_buffer(void *context, uint64_t addr, uint64_t bytes, int is_filled);

/*
 * Calls f for each buffer of a step of a call: where it is entered for what the kernel reads, where it is left for what it has filled. So much of what is read as was asked for,
 * and so much of what is filled as the result says. Returns 0 or what f returned.
 */
int tw_kernel_buffers(const struct tw_calling_step *step, tw_kernel_buffer *f, void *context);

#endif

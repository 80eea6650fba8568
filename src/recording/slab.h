/*
 * Memory for many small things that are freed all at once. Consecutive allocations are adjacent.
 */
#ifndef TW_SLAB_H
#define TW_SLAB_H

#include <stddef.h>

/* A list of slabs; NULL where nothing has been taken. */
struct tw_slab;

/* This many bytes, not set, aligned for 8-byte items; valid until tw_slab_free(*slabs). NULL: no memory. */
void *tw_slab_take(struct tw_slab **slabs, size_t bytes);

void tw_slab_free(struct tw_slab *slabs);

#endif

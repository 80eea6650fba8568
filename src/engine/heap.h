/*
 * The engine's heap, in the low arena: the data about translations, and their tables. Zeroed memory that is never
 * freed piece by piece: flushing translations resets tw_heap_at (code/flush.h).
 */
#ifndef TW_HEAP_H
#define TW_HEAP_H

#include "engine/lib.h"

extern u64 tw_heap_at; /* its first free byte */

/* With or without the engine's lock. */
void *tw_heap(u64 bytes);

/* Whole pages. */
void *tw_heap_pages(u64 bytes);

#define TW_HUGE_FROM (64u << 10) /* callers use at least this much of a huge page */

/*
 * If pages are expensive: the memory shared with the collector that contains these bytes uses huge pages from now on,
 * for all that map it.
 */
void tw_heap_shared(u64 at, u64 bytes);

/* If pages are expensive: the engine's sparse tables use huge pages from now on. */
void tw_heap_sparse(void);

/*
 * The same for the holder of the descriptor lock: its work is restarted whenever the thread was stopped, and so must
 * not call the kernel (descriptor_lock.h). The address is noted, and the memory put into a huge page after the lock
 * has been released.
 */
void tw_heap_shared_later(u64 at);
void tw_heap_shared_wanted(void);

#endif

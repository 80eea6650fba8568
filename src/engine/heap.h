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

#define TW_HUGE_FROM (64u << 10) /* so much of a huge page is used by who asks for it */

/* Where pages are dear: the memory shared with the collector that these bytes are in is in huge pages from now on, for all that map it. */
void tw_heap_shared(u64 at, u64 bytes);

/* Where pages are dear: the engine's sparse tables are in huge pages from now on. */
void tw_heap_sparse(void);

/*
 * The same for who holds the descriptor lock: what stands there begins anew whenever the thread was stopped, and so must not call the kernel (descriptor_lock.h). The address is noted, and the
 * memory put into a huge page when the lock has been given back.
 */
void tw_heap_shared_later(u64 at);
void tw_heap_shared_wanted(void);

#endif

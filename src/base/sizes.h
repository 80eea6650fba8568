/*
 * Sizes of the channel and the engine: all that the machine's address space allows, or, if a limit on memory or file
 * sizes cannot be raised, less: a smaller arena, fewer slots and buffers, less memory for the descriptors of a single
 * program. Chosen once, before the channel is made, and stored in it.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TW_SIZES_H
#define TW_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#define TW_UNLIMITED UINT64_MAX

struct tw_sizes {
	uint32_t slots, buffers, tables; /* as TW_SLOTS, TW_BUFFERS and TW_DESCRIPTOR_TABLES, which are the most */
	uint32_t threads;                /* of one process */
	uint32_t known_entries, claim_entries, tally_entries;
	uint32_t spares;        /* buffers of threads that are not recorded */
	uint64_t table_bytes;   /* that the descriptors of one program may take... */
	uint64_t table_at_once; /* ...of which so much is mapped at a time */
	uint64_t store_bytes;
	uint64_t cache_bytes, stubs_bytes, heap_bytes; /* of the arena */
	/* Where the parts of the memfd are, and its size. The first of them, up to channel_bytes, is mapped by all. */
	uint64_t known_at, claims_at, slots_at, tallies_at, channel_bytes, store_at, tables_at, memfd_bytes;
	/* What the engine takes of a process's memory, as the kernel's limits count it: everything, and the private writable part. */
	uint64_t space, data;
	/* Limits at or above these are the program's own, and include the engine; TW_UNLIMITED: there is none. */
	uint64_t within_space, within_data;
};

/* Are they less than the machine allows? */
static inline bool tw_sizes_limited(const struct tw_sizes *s)
{
	return !s->store_bytes;
}

#endif

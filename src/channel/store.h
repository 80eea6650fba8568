/*
 * The store of snapshots (engine/snapshot.h): translations that processes of a recording leave to others that run the same program. It lies behind
 * everything else in the channel's memfd, sparse, and is not mapped as a whole: a process reads and maps what it needs. The collector only makes it.
 *
 * What must hold: what an entry's `offset` leads to is complete and is never changed or given up again, for others may have it mapped. So the store only
 * grows, up to its limit.
 *
 * Freestanding: the engine includes this header.
 */
#ifndef TW_STORE_H
#define TW_STORE_H

#include <stdatomic.h>
#include <stdint.h>

#define TW_STORE_BYTES   (1ull << 30)
#define TW_STORE_ENTRIES 1024u

/* The best snapshot there is of one program. */
struct tw_store_entry {
	_Atomic uint64_t key;       /* hash of what it is of; 0: free */
	_Atomic uint64_t offset;    /* in the store, plus 1; 0: none yet */
	_Atomic uint32_t writer;    /* process that is writing one, or 0 */
	_Atomic uint32_t written;   /* how many have been */
	_Atomic uint32_t fragments; /* in it */
	uint32_t reserved;
};

struct tw_store {
	uint64_t limit; /* bytes that may be used; 0: there are no snapshots */
	_Atomic uint64_t used;
	_Atomic uint32_t taken; /* programs that began with a snapshot */
	_Atomic uint32_t forks; /* processes that went on with one */
	struct tw_store_entry entry[TW_STORE_ENTRIES];
};

#endif

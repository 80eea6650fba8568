/*
 * The store of snapshots (engine/code/snapshot.h): translations that processes of a recording leave to others that run the same program. It lies behind
 * everything else in the channel's memfd, sparse, and is not mapped as a whole: a process reads and maps what it needs. The collector only makes it, and
 * keeps what is in it at the end for the next recording, in files (channel/keep.h).
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
#define TW_STORE_KEPT    UINT64_MAX /* an offset: the best snapshot is the file that was kept */
#define TW_KEEP_PATH     512u       /* bytes of the directory's path, NUL included */
#define TW_KEEP_SUFFIX   ".snapshot"

/* Which machine, and since when it runs: snapshots of another are good for nothing, for translations depend on the processor. */
struct tw_machine_id {
	uint8_t boot[16];   /* of the kernel; all zeros: not known, and nothing is kept */
	uint64_t processor; /* hash of what CPUID says of it */
};

/* What a snapshot begins with, in the store and in a file. */
struct tw_snapshot_lead {
	uint64_t magic;
	uint64_t bytes; /* of all of it */
	struct tw_machine_id machine;
};
#define TW_SNAPSHOT_MAGIC 0x746f687370616e74ull

/* The best snapshot there is of one program. */
struct tw_store_entry {
	_Atomic uint64_t key;       /* hash of what it is of; 0: free */
	_Atomic uint64_t offset;    /* in the store, plus 1; 0: none yet; TW_STORE_KEPT */
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
	struct tw_machine_id machine;
	char keep[TW_KEEP_PATH]; /* directory of what is kept; an absolute path, or "" */
	struct tw_store_entry entry[TW_STORE_ENTRIES];
};

#endif

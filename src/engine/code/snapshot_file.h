/*
 * The layout of a snapshot in the store or in a file (snapshot.h), and how one is made: the head, then the used part
 * of each area of the arena, in whole pages.
 */
#ifndef TW_SNAPSHOT_FILE_H
#define TW_SNAPSHOT_FILE_H

#include "engine/code/fragment.h"
#include "engine/code/module.h"

#define SEGMENTS 4u

/* A part of the arena, in whole pages; in the file they follow the head, one after the other. */
struct snapshot_segment {
	u64 start, bytes;
};

/* One table of lookups. */
struct snapshot_table {
	u32 kind, upper;
	u64 *table, *shadow;
	const u8 *miss;
};
#define TABLES (LOOKUP_KINDS * TW_MOST_CLAIMED)

/* If something is recorded: the data of fragments with claimed numbers (base/store.h). */
struct snapshot_claimed {
	u32 entries; /* of windows (record/tally.h), that they have */
	u32 n;
	u16 upper[TW_MOST_CLAIMED];
	struct fragment **row[TW_MOST_CLAIMED]; /* fragments by number */
};

/* What a snapshot begins with. */
struct snapshot_head {
	struct tw_snapshot_lead lead;
	struct tw_file engine;
	struct snapshot_segment segment[SEGMENTS];
	u64 heap_at, cache_at, stubs_at;
	u32 n_host, n_tables;
	u32 n_base;    /* modules that the loader of the engine mapped */
	u32 n_startup; /* ... and that existed at the program's entry */
	u32 n_modules;
	u32 wide;                  /* are the tables (tables.h)? */
	u32 n_sites[LOOKUP_KINDS]; /* tables.h */
	struct snapshot_table table[TABLES];
	struct tw_module module[TW_MODULES];
	struct snapshot_claimed claimed;
	u64 *returns; /* in the heap: places after recorded calls (record/calls.h) */
	u32 n_returns;
};
#define HEAD_BYTES ((sizeof(struct snapshot_head) + TW_PAGE - 1) & ~(u64)(TW_PAGE - 1))

/*
 * Makes everything stale in this process that would be wrong in another, and fills in *h except for: the machine,
 * engine, n_base, n_startup, and the rows of claimed. Under the lock. False: there are too many tables.
 */
bool tw_snapshot_make(struct snapshot_head *h);

/* Do fragments have numbers, and descriptors? Not those of threads that stay bare, in a recording that only learns. */
bool tw_snapshot_numbered(void);

/* Number of fragments after the first n that were made whose code is still in its file. Under the lock. */
u32 tw_snapshot_new(u32 n);

/*
 * Writes what *h describes to this place of the file; the head comes last. Threads that look for hot paths have no
 * lock: fragments being written may point to what they take from the heap meanwhile (trace.c). So h->heap_at is the
 * end of the heap including that: a process that starts with the snapshot finds zeros there, and never allocates
 * them.
 */
bool tw_snapshot_write(int fd, struct snapshot_head *h, u64 place);

#endif

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

/* Where something is recorded: what fragments with claimed numbers (base/store.h) have to do with. */
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
	u32 n_startup; /* ... and that were there at the program's entry */
	u32 n_modules;
	u32 wide;                  /* are the tables (tables.h)? */
	u32 n_sites[LOOKUP_KINDS]; /* tables.h */
	struct snapshot_table table[TABLES];
	struct tw_module module[TW_MODULES];
	struct snapshot_claimed claimed;
	u64 *returns; /* in the heap: places behind calls that are told (record/calls.h) */
	u32 n_returns;
};
#define HEAD_BYTES ((sizeof(struct snapshot_head) + TW_PAGE - 1) & ~(u64)(TW_PAGE - 1))

/*
 * Makes everything stale in this process that would not be right in another, and fills *h in, where these are given: the machine, engine, n_base,
 * n_startup, claimed but for its rows. Under the lock. False: there are too many tables.
 */
bool tw_snapshot_make(struct snapshot_head *h);

/* Have fragments numbers, and descriptors? Not those of threads that stay bare, in a recording that only learns. */
bool tw_snapshot_numbered(void);

/* How many fragments there are behind the first n that were made, of code that is in its file to this day. Under the lock. */
u32 tw_snapshot_new(u32 n);

/*
 * Writes what *h says to this place of the file; the head comes last. Threads that look for hot paths have no lock: what they take from the heap meanwhile (trace.c) fragments may point to that are
 * being written. So h->heap_at is where the heap ends behind all that: who begins with it finds zeros there, and gives them to nobody else.
 */
bool tw_snapshot_write(int fd, struct snapshot_head *h, u64 place);

#endif

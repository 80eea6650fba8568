/*
 * What there is of translations in this process: how far the areas of the arena are used, and where the tables in the heap are. fragment.c keeps it;
 * a snapshot (snapshot.h) holds a copy. Under tw_engine.lock.
 */
#ifndef TW_TRANSLATIONS_H
#define TW_TRANSLATIONS_H

#include "engine/cache.h"

#define HASH_BITS     18
#define HASH_BUCKETS  (1u << HASH_BITS)
#define MAX_FRAGMENTS (1u << 20)
#define TABLE_ENTRIES 65536u
#define TABLE_BYTES   (TABLE_ENTRIES * 8u)
#define MAX_UPPERS    1024u
#define PAGE_BITS     14
#define PAGE_BUCKETS  (1u << PAGE_BITS)

/* Which fragments have code on a page of the application's, by page. */
struct on_page {
	u64 page;
	struct fragment *f;
	struct on_page *next;
};

struct tw_translations {
	u64 heap_at, cache_at, stubs_at; /* first free byte of each area; of the cache: behind all pieces */
	struct tw_cache_piece piece[CACHE_PIECES];
	u64 heap_mark; /* what is below it stays when translations are thrown away */
	u32 n_host;
	u32 low_upper, top_upper; /* the lowest and the highest that have tables */
	struct fragment **hash;
	struct fragment **on_host;  /* by page of the cache: that which starts there last */
	struct fragment **host_map; /* all, in the order in which they were made */
	struct on_page **pages;
	u64 *tables[LANDING_KINDS][MAX_UPPERS];
	const u8 *misses[LANDING_KINDS][MAX_UPPERS];
	u64 *shadows[LANDING_KINDS][MAX_UPPERS]; /* of a snapshot: what the tables are to become (snapshot.h) */
};

extern struct tw_translations tw_translations;

/* ---- fragment.c, for snapshot.c ---- */

/*
 * Throws all translations away with the memory they are in. Only for a process's only thread, in the dispatcher, where it forgets by which exit it came: as when
 * they were thrown away while it was in a system call.
 */
void tw_fragment_restart(void);

/* Whole pages of the heap. */
void *tw_heap_pages(u64 bytes);

/* No branch finds f any more, and whoever is on the way to it meets a breakpoint. */
void tw_fragment_make_stale(struct fragment *f);

/* x leads to its stub again. It is in nobody's list of incoming exits (any more). */
void tw_exit_unlink(struct exit *x);

/* Every indirect branch that looks here finds nothing. */
void tw_fragment_clear_table(u32 upper, u8 kind);

#endif

/*
 * What there is of translations in this process: how far the areas of the arena are used, and where the tables in the heap are. fragment.c keeps it;
 * a snapshot (snapshot.h) holds a copy. Under tw_engine.lock.
 */
#ifndef TW_TRANSLATIONS_H
#define TW_TRANSLATIONS_H

#include "engine/code/cache.h"

#define HASH_BITS     19
#define HASH_BUCKETS  (1u << HASH_BITS)
#define MAX_FRAGMENTS (1u << 21)
#define TABLE_ENTRIES 65536u
#define TABLE_BYTES   (TABLE_ENTRIES * 8u)
#define MAX_UPPERS    1024u
#define MAX_SITES     (7u * TABLE_ENTRIES)
#define PAGE_BITS     14
#define PAGE_BUCKETS  (1u << PAGE_BITS)

/* A fragment that has code on a page of the application's; of all pages that are in one bucket. Addresses. */
struct on_page {
	u32 fragment, next;
};

struct tw_translations {
	u64 cache_at, stubs_at; /* first free byte of each area; of the cache: behind all pieces */
	struct tw_cache_piece piece[CACHE_PIECES];
	u64 heap_mark; /* of the engine's heap: what is below it stays when translations are thrown away */
	u32 n_host;
	u32 *hash;                 /* by pc: addresses of fragments */
	struct fragment **on_host; /* by page of the cache: that which starts there last */
	u32 *host_map;             /* all, in the order in which they were made: addresses */
	u32 *pages;                /* by page: addresses of the last struct on_page */
	u32 n_uppers;              /* upper halves that have tables... */
	u32 upper[MAX_UPPERS];     /* ...which they are; the k-th has tables k */
	u64 *tables[LOOKUP_KINDS][MAX_UPPERS];
	const u8 *misses[LOOKUP_KINDS][MAX_UPPERS];
	u32 n_sites[LOOKUP_KINDS];              /* of all indirect branches, where each has lookups of its own; else 0 */
	u64 *shadows[LOOKUP_KINDS][MAX_UPPERS]; /* of a snapshot: what the tables are to become (snapshot.h) */
};

extern struct tw_translations tw_translations;

/* The i-th that was made, of n_host. */
static inline struct fragment *tw_fragment_made(u32 i)
{
	return (struct fragment *)(u64)tw_translations.host_map[i];
}

/* ---- fragment.c, for snapshot.c ---- */

/*
 * Throws all translations away with the memory they are in. Only for a process's only thread, in the dispatcher, where it forgets by which exit it came: as when
 * they were thrown away while it was in a system call. False, and nothing has happened: the program has all the mappings that the kernel allows.
 */
bool tw_fragment_restart(void);

/* No branch finds f any more, and whoever is on the way to it meets a breakpoint. */
void tw_fragment_make_stale(struct fragment *f);

/* x leads to its stub again. It is in nobody's list of incoming exits (any more). */
void tw_exit_unlink(struct exit *x);

/* Every indirect branch that looks in these tables, the k-th of a kind, finds nothing. */
void tw_fragment_clear_table(u32 k, u8 kind);

/* Which tables an upper half has: it has got some. */
u32 tw_fragment_tables_of(u32 upper);

/* Where fragments of this upper half are found by number: 65536 pointers; NULL: there are none. */
struct fragment ***tw_fragment_row(u32 upper);

#endif

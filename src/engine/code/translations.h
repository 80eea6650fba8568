/*
 * All translations in this process: how far the areas of the arena are filled, and where the tables in the heap are.
 * This file owns the areas: it lays them out, empties them, and detects that they are full. The contents of the
 * tables belong to other files (fragments.h, tables.h, cache.h, numbers.h). A snapshot (snapshot.h) holds a copy.
 * Under tw_engine.lock.
 */
#ifndef TW_TRANSLATIONS_H
#define TW_TRANSLATIONS_H

#include "engine/code/fragment.h"

#define HASH_BITS         19
#define HASH_BUCKETS      (1u << HASH_BITS)
#define MAX_FRAGMENTS     (1u << 21)
#define MAX_UPPERS        1024u
#define MAX_SITES         (7u * 65536u)
#define PAGE_BITS         14
#define PAGE_BUCKETS      (1u << PAGE_BITS)
#define CACHE_PIECES      16u
#define CACHE_PIECE_BYTES (256u << 10)
#define CACHE_PAGES       ((ARENA_CACHE_END - ARENA_CACHE) / TW_PAGE)

/* A part of the cache that is being filled (cache.h). */
struct tw_cache_piece {
	u64 at, end;
	const struct fragment *newest; /* what has been put there last */
};

/* A fragment that has code on a page of the application's; of all pages that are in one bucket. Addresses. */
struct on_page {
	u32 fragment, next;
};

struct tw_translations {
	u64 cache_at, stubs_at; /* first free byte of each area; of the cache: behind all pieces */
	struct tw_cache_piece piece[CACHE_PIECES];
	u64 heap_mark; /* of the engine's heap: what is below it stays when translations are thrown away */
	u32 n_host;
	u32 n_code,
	    n_stale; /* how many of them were made of code of the program's (of those of a snapshot: all), and of these, how many are stale */
	u32 n_spared;              /* of these, so many were when they were last to be thrown away for it, and could not be */
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
	u32 shadow_sites[LOOKUP_KINDS];         /* ... for which there were so many sites */
};

extern struct tw_translations tw_translations;

/* How often they were thrown away: a futex, and changed by flush.c alone. */
extern u32 tw_translations_generation;

/* The i-th that was made, of n_host. */
static inline struct fragment *tw_fragment_made(u32 i)
{
	return (struct fragment *)(u64)tw_translations.host_map[i];
}

/* Lays the areas out, before anything is translated. False: something is in the arena's place. */
bool tw_translations_init(void);

/* Lays them out anew, without what was there. False, and nothing has happened: the program has all the mappings that the kernel allows. */
bool tw_translations_renew(void);

/* This part of an area is zeros, whatever the kernel allows. */
void tw_translations_clear(u64 start, u64 bytes);

/* Are translations to be thrown away before another is made? The cache, the stubs, the heap or a table is nearly full (with a good margin for one more translation). */
bool tw_translations_full(void);

/*
 * Likewise, but there is room: much is stale and little is not. A program that goes on writing code would otherwise fill all areas with code that no thread can run. Where they are spared nevertheless, as
 * much has to become stale again.
 */
bool tw_translations_stale(void);
void tw_translations_spare(void);

/* Counts how far the areas are used. */
void tw_translations_count(void);

/* Nothing is translated any more. The memory is as it was before the first. */
void tw_translations_empty(void);

#endif

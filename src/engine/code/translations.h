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

/* A fragment that has code on a page of the application; in a list of all pages that share a bucket. Addresses. */
struct on_page {
	u32 fragment, next;
};

struct tw_translations {
	u64 cache_at, stubs_at; /* first free byte of each area; of the cache: after all pieces */
	struct tw_cache_piece piece[CACHE_PIECES];
	u64 heap_mark; /* of the engine's heap: everything below it stays when translations are discarded */
	u32 n_host;
	u32 n_code, n_stale; /* how many of them were made from the program's code (of a snapshot: all), and of these, how many are stale */
	u32 n_spared;        /* of these, how many there were when they should last have been discarded and could not be */
	u32 *hash;           /* by pc: addresses of fragments */
	struct fragment **on_host; /* by page of the cache: the last fragment that starts there */
	u32 *host_map;             /* all, in order of creation: addresses */
	u32 *pages;                /* by page: addresses of the last struct on_page */
	u32 n_uppers;              /* upper halves that have tables... */
	u32 upper[MAX_UPPERS];     /* ...which they are; the k-th has tables k */
	u64 *tables[LOOKUP_KINDS][MAX_UPPERS];
	const u8 *misses[LOOKUP_KINDS][MAX_UPPERS];
	u32 n_sites[LOOKUP_KINDS];              /* number of indirect branches, if each has its own lookups; otherwise 0 */
	u64 *shadows[LOOKUP_KINDS][MAX_UPPERS]; /* of a snapshot: future contents of the tables (snapshot.h) */
	u32 shadow_sites[LOOKUP_KINDS];         /* ... for which there were so many sites */
};

extern struct tw_translations tw_translations;

/* How often they were discarded: a futex, changed by flush.c alone. */
extern u32 tw_translations_generation;

/* The i-th that was made, of n_host. */
static inline struct fragment *tw_fragment_made(u32 i)
{
	return (struct fragment *)(u64)tw_translations.host_map[i];
}

/* Lays out the areas, before anything is translated. False: the arena's place is occupied. */
bool tw_translations_init(void);

/* Lays them out again, empty. False, and nothing has happened: the program has all the mappings that the kernel allows. */
bool tw_translations_renew(void);

/* Makes this part of an area zero, whatever the kernel allows. */
void tw_translations_clear(u64 start, u64 bytes);

/*
 * Must translations be discarded before another is made? The cache, the stubs, the heap or a table is nearly full
 * (with a good margin for one more translation).
 */
bool tw_translations_full(void);

/*
 * Likewise, but there is room: much is stale and little is not. A program that keeps writing code would otherwise
 * fill all areas with code that no thread can run. If they are spared nevertheless, as much has to become stale
 * again.
 */
bool tw_translations_stale(void);
void tw_translations_spare(void);

/* Counts how far the areas are used. */
void tw_translations_count(void);

/* Removes all translations. The memory is as it was before the first. */
void tw_translations_empty(void);

#endif

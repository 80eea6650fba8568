#include "engine/code/translations.h"
#include "engine/counts.h"
#include "engine/heap.h"
#include "engine/x86_64/state.h"
#include <asm/unistd.h>
#include <linux/mman.h>

struct tw_translations tw_translations;
static struct tw_translations *const tr = &tw_translations;
u32 tw_translations_generation;

static bool reserve(u64 start, u64 end, int how)
{
	const int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	return !tw_failed(tw_mmap(start, end - start, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1, 0));
}

/* The areas of the arena have the same kind of memory: with nothing between them they are one mapping. */
static bool in_one_piece(void)
{
	return tw_arena_cache_end() == ARENA_STUBS && tw_arena_stubs_end() == ARENA_HEAP;
}

static bool reserve_areas(void)
{
	const int how = MAP_FIXED_NOREPLACE;
	if (in_one_piece())
		return reserve(ARENA_CACHE, tw_arena_heap_end(), how);
	return reserve(ARENA_CACHE, tw_arena_cache_end(), how) && reserve(ARENA_STUBS, tw_arena_stubs_end(), how) &&
	       reserve(ARENA_HEAP, tw_arena_heap_end(), how);
}

/* One mapping with the engine's own, still (start.S). */
static void use_huge_pages(void)
{
	if (tw_dear_pages && in_one_piece())
		tw_sys(__NR_madvise, ARENA_CACHE, tw_arena_heap_end() - ARENA_CACHE, MADV_HUGEPAGE);
}

void tw_translations_clear(u64 start, u64 bytes)
{
	if (bytes && !reserve(start, start + bytes, MAP_FIXED))
		memset((void *)start, 0, bytes);
}

/* *tr is all zeros. */
static void lay_out(void)
{
	tw_heap_at = ARENA_HEAP;
	tr->cache_at = ARENA_CACHE;
	tr->stubs_at = ARENA_STUBS;
	tr->hash = tw_heap_pages(HASH_BUCKETS * sizeof *tr->hash);
	tr->pages = tw_heap_pages(PAGE_BUCKETS * sizeof *tr->pages);
	tr->on_host = tw_heap_pages(CACHE_PAGES * sizeof *tr->on_host);
	tw_state_init();
	tr->host_map = tw_heap_pages((u64)MAX_FRAGMENTS * sizeof *tr->host_map); /* last: most of it is never used */
	tr->heap_mark = tw_heap_at = tw_page_up(tw_heap_at);
}

bool tw_translations_init(void)
{
	if (!reserve_areas())
		return false;
	use_huge_pages();
	lay_out();
	return true;
}

bool tw_translations_renew(void)
{
	const u64 first_end = in_one_piece() ? tw_arena_heap_end() : tw_arena_cache_end();
	if (!reserve(ARENA_CACHE, first_end, MAP_FIXED))
		return false;
	use_huge_pages();
	if (!in_one_piece()) {
		tw_translations_clear(ARENA_STUBS, tr->stubs_at - ARENA_STUBS);
		tw_translations_clear(ARENA_HEAP, tw_heap_at - ARENA_HEAP);
	}
	memset(tr, 0, sizeof *tr);
	lay_out();
	return true;
}

/* Maximum size of one translation, with a good margin. */
#define CACHE_MARGIN (1u << 20)
#define STUBS_MARGIN (1u << 16)
#define HEAP_MARGIN  (8u << 20) /* two wide tables of lookups are 4 MB */

/*
 * This many stale fragments may stay (30 to 60 MB with everything that belongs to them), and twice as many as are not
 * stale: so only few have to be made again after a flush.
 */
#define MOST_STALE (1u << 16)

bool tw_translations_stale(void)
{
	return tr->n_stale - tr->n_spared > MOST_STALE && tr->n_stale > 2 * (tr->n_code - tr->n_stale);
}

void tw_translations_spare(void)
{
	tr->n_spared = tr->n_stale;
}

bool tw_translations_full(void)
{
	return tr->cache_at + CACHE_MARGIN >= tw_arena_cache_end() || tr->stubs_at + STUBS_MARGIN >= tw_arena_stubs_end() ||
	       tw_heap_at + HEAP_MARGIN >= tw_arena_heap_end() || tr->n_host + 16 >= MAX_FRAGMENTS || tr->n_uppers + 16 >= MAX_UPPERS;
}

void tw_translations_count(void)
{
	tw_count_most(TW_COUNT_MOST_PIECES, tr->n_host);
	tw_count_most(TW_COUNT_MOST_CACHE, tr->cache_at - ARENA_CACHE);
	tw_count_most(TW_COUNT_MOST_STUBS, tr->stubs_at - ARENA_STUBS);
	tw_count_most(TW_COUNT_MOST_HEAP, tw_heap_at - tr->heap_mark);
}

void tw_translations_empty(void)
{
	memset(tr->hash, 0, HASH_BUCKETS * sizeof *tr->hash);
	memset(tr->pages, 0, PAGE_BUCKETS * sizeof *tr->pages);
	tr->n_uppers = 0;
	memset(tr->tables, 0, sizeof tr->tables);
	memset(tr->shadows, 0, sizeof tr->shadows);
	memset(tr->n_sites, 0, sizeof tr->n_sites);
	tw_state_forget();
	tr->n_host = tr->n_code = tr->n_stale = tr->n_spared = 0;
	memset((void *)tr->heap_mark, 0, tw_heap_at - tr->heap_mark);
	tw_heap_at = tr->heap_mark;
	tr->cache_at = ARENA_CACHE;
	tr->stubs_at = ARENA_STUBS;
	memset(tr->on_host, 0, CACHE_PAGES * sizeof *tr->on_host);
	memset(tr->piece, 0, sizeof tr->piece);
}

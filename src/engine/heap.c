#include "engine/heap.h"
#include "engine/engine.h"
#include <asm/unistd.h>
#include <linux/mman.h>

u64 tw_heap_at = ARENA_HEAP;

void *tw_heap(u64 bytes)
{
	bytes = (bytes + 7) & ~7ull;
	u64 at = __atomic_fetch_add(&tw_heap_at, bytes, __ATOMIC_RELAXED);
	if (at + bytes > tw_arena_heap_end()) {
		tw_engine_fail(TW_FAILURE_ENGINE, "the engine's heap is full");
		__builtin_trap();
	}
	return (void *)at;
}

void *tw_heap_pages(u64 bytes)
{
	return (void *)tw_page_up((u64)tw_heap(bytes + TW_PAGE));
}

extern char tw_dense_start[]; /* by the linker: what follows, up to the end of a huge page, is in a huge page already */

void tw_heap_sparse(void)
{
	const u64 at = (u64)tw_dense_start + TW_HUGE_PAGE;
	if (tw_dear_pages)
		tw_sys(__NR_madvise, at, ARENA_CACHE - at, MADV_HUGEPAGE);
}

/* Requests: as many as one section makes under the descriptor lock. */
static u64 wanted[2];

void tw_heap_shared_later(u64 at)
{
	wanted[wanted[0] != 0] = at;
}

void tw_heap_shared_wanted(void)
{
	for (u32 k = 0; k < 2; k++) {
		const u64 at = wanted[k] ? __atomic_exchange_n(&wanted[k], 0, __ATOMIC_ACQ_REL) : 0;
		if (at)
			tw_heap_shared(at, 1);
	}
}

/*
 * Only memory that has a page can be put into a huge page. In a process that was attached to, the channel may start
 * in the middle of one, and nothing may be mapped where that starts: so the kernel is asked for the page, and reports
 * if there is none.
 */
void tw_heap_shared(u64 at, u64 bytes)
{
	const u64 end = at + bytes;
	for (at &= -TW_HUGE_PAGE; tw_dear_pages && at < end; at += TW_HUGE_PAGE)
		if (!tw_sys(__NR_madvise, at, TW_PAGE, MADV_POPULATE_READ))
			tw_sys(__NR_madvise, at, TW_HUGE_PAGE, MADV_COLLAPSE);
}

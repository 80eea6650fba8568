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

/* Only what has a page can be put into a huge one. */
void tw_heap_shared(u64 at, u64 bytes)
{
	const u64 end = at + bytes;
	for (at &= -TW_HUGE_PAGE; tw_dear_pages && at < end; at += TW_HUGE_PAGE) {
		*(volatile u8 *)at;
		tw_sys(__NR_madvise, at, TW_HUGE_PAGE, MADV_COLLAPSE);
	}
}

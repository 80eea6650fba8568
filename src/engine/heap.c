#include "engine/heap.h"
#include "engine/engine.h"

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

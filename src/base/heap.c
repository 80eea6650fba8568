#include "base/heap.h"
#include "base/channel.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	/* calloc clears what the heap has had, also where a table is mostly left alone: so no more than what takes a few milliseconds to clear. */
	FIRST = 30 << 20,
	/* What is larger is mapped by itself, and unmapped when it is freed: the most that malloc comes to of its own. */
	LARGE = 32 << 20
};

void tw_heap_begin(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, 2 * LARGE);
	/* The heap ends behind `end`: what is left there up to a huge page is taken, and never touched. */
	const char *end = malloc(1);
	void *volatile rest = end ? malloc(TW_HUGE_PAGE - (uintptr_t)end % TW_HUGE_PAGE) : NULL; /* or gcc leaves it out */
	char *first = rest ? malloc(FIRST) : NULL;
	if (first)
		madvise(first + (TW_HUGE_PAGE - (uintptr_t)first % TW_HUGE_PAGE), FIRST - TW_HUGE_PAGE, MADV_HUGEPAGE);
	free(first);
}

#include "base/heap.h"
#include "base/channel.h"
#include "base/dear.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* gcc leaves a malloc out whose memory is not used. */
static void *volatile taken;

void tw_heap_to_answer(void)
{
	enum {
		/*
		 * calloc clears memory that the heap has used before, also if a table is mostly left alone: so no more than takes a
		 * few milliseconds to clear.
		 */
		FIRST = 30 << 20,
		/* Larger blocks are mapped separately, and unmapped when freed: the maximum that malloc itself chooses. */
		LARGE = 32 << 20
	};
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, 2 * LARGE);
	/* The heap ends after `end`: the rest up to a huge page is taken, and never touched. */
	const char *end = malloc(1);
	taken = end ? malloc(TW_HUGE_PAGE - (uintptr_t)end % TW_HUGE_PAGE) : NULL;
	char *first = taken ? malloc(FIRST) : NULL;
	if (first)
		madvise(first + (TW_HUGE_PAGE - (uintptr_t)first % TW_HUGE_PAGE), FIRST - TW_HUGE_PAGE, MADV_HUGEPAGE);
	free(first);
}

static int is_limited(int resource)
{
	struct rlimit l;
	return getrlimit(resource, &l) || l.rlim_cur != RLIM_INFINITY;
}

void tw_heap_to_store(void)
{
	/* What does not fit is mapped piece by piece, as usual: arrays that grow by copying would take half as much again. */
	enum { AHEAD = 112 << 20, LITTLE = 128 << 10 };
	if (!tw_dear_pages() || is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA))
		return;
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, AHEAD);
	mallopt(M_TOP_PAD, AHEAD);
	/* The heap reserves addresses for later; a process that needs only little has it in small pages. */
	char *little = taken = malloc(LITTLE);
	const uintptr_t begin = (uintptr_t)little + LITTLE, end = (uintptr_t)sbrk(0) & ~(uintptr_t)(TW_HUGE_PAGE - 1);
	const uintptr_t first = (begin + TW_PAGE + TW_HUGE_PAGE - 1) & ~(uintptr_t)(TW_HUGE_PAGE - 1);
	mallopt(M_TOP_PAD, TW_HUGE_PAGE);
	if (begin < end && first < end && !madvise((void *)first, end - first, MADV_HUGEPAGE))
		taken = malloc(first - begin - TW_PAGE); /* no more than that */
	free(little);
}

void tw_heap_to_count(void)
{
	enum { AT_ONCE = 6 << 20, LARGE = 8 << 20 };
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, LARGE);
	mallopt(M_TRIM_THRESHOLD, LARGE);
	mallopt(M_TOP_PAD, AT_ONCE);
}

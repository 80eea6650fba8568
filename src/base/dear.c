#include "base/dear.h"
#include "base/channel.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The quickest of a few: one that was interrupted says nothing. */
static int measure(void)
{
	enum { TIMES = 4, DEAR_NS = 4000 };
	uint64_t least = UINT64_MAX;
	volatile char *at = mmap(NULL, TIMES * TW_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 0;
	for (int k = 0; k < TIMES; k++) {
		const uint64_t began = now();
		at[k * TW_PAGE] = 1;
		const uint64_t took = now() - began;
		least = took < least ? took : least;
	}
	munmap((void *)(uintptr_t)at, TIMES * TW_PAGE);
	return least > DEAR_NS;
}

int tw_dear_pages(void)
{
	static int known; /* 1: they are not, 2: they are */
	int is = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (!is)
		__atomic_store_n(&known, is = measure() + 1, __ATOMIC_RELAXED);
	return is - 1;
}

static int is_limited(int resource)
{
	struct rlimit l;
	return getrlimit(resource, &l) || l.rlim_cur != RLIM_INFINITY;
}

/* gcc leaves a malloc out whose memory is not used. */
static void *volatile taken;

void tw_dear_heap(void)
{
	/* What does not fit is mapped piece by piece, as always: arrays that grow by being copied would take half as much again. */
	enum { AHEAD = 112 << 20, LITTLE = 128 << 10 };
	if (!tw_dear_pages() || is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA))
		return;
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, AHEAD);
	mallopt(M_TOP_PAD, AHEAD);
	char *little = taken =
	    malloc(LITTLE); /* so that the heap has addresses for what will come; who needs no more has it in small pages */
	const uintptr_t begin = (uintptr_t)little + LITTLE, end = (uintptr_t)sbrk(0) & ~(uintptr_t)(TW_HUGE_PAGE - 1);
	const uintptr_t first = (begin + TW_PAGE + TW_HUGE_PAGE - 1) & ~(uintptr_t)(TW_HUGE_PAGE - 1);
	mallopt(M_TOP_PAD, TW_HUGE_PAGE);
	if (begin < end && first < end && !madvise((void *)first, end - first, MADV_HUGEPAGE))
		taken = malloc(first - begin - TW_PAGE); /* no more than that */
	free(little);
}

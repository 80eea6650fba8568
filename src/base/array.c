#include "base/array.h"
#include "base/channel.h"
#include "base/dear.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LEAST = 64 };

/* The first `used` bytes of the items, on huge pages with room for *bytes. */
static void *move_to_huge(void *items, size_t used, size_t *bytes)
{
	void *at = tw_array_huge(bytes);
	if (!at)
		return NULL;
	if (items)
		memcpy(at, items, used);
	free(items);
	return at;
}

/*
 * The same items with room for `bytes` in all. Copying them to huge pages takes less time than touching as much more
 * on small ones; very many are moved by the kernel.
 */
static void *move_items(void *items, size_t n_bytes, size_t bytes)
{
	enum { COPIED = 64 << 20 };
	if (bytes < TW_HUGE_PAGE || bytes > COPIED)
		return realloc(items, bytes);
	return move_to_huge(items, n_bytes, &bytes);
}

void *tw_array_room(void *items, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return items;
	size_t more = 2 * n + LEAST;
	void *at = more / 2 < n || more > PTRDIFF_MAX / size ? NULL : move_items(items, *room * size, more * size);
	if (at)
		*room = more;
	return at;
}

void *tw_array_zeros(void *items, size_t n, size_t *room, size_t size)
{
	size_t before = *room;
	char *at = tw_array_room(items, n, room, size);
	if (*room > before)
		memset(at + before * size, 0, (*room - before) * size);
	return at;
}

void *tw_array_table(size_t n, size_t size)
{
	enum { LARGE = 4 << 20, PAGE = 4096 };
	char *at = calloc(n, size);
	if (at && n * size >= LARGE) { /* with its first and last page: a mapping of two kinds cannot grow, but is copied */
		char *first = at - ((uintptr_t)at & (PAGE - 1));
		madvise(first, (n * size + (size_t)(at - first) + PAGE - 1) & ~(size_t)(PAGE - 1), MADV_HUGEPAGE);
	}
	return at;
}

void *tw_array_huge(size_t *bytes)
{
	if (*bytes > PTRDIFF_MAX)
		return NULL;
	*bytes = (*bytes + TW_HUGE_PAGE - 1) & ~(size_t)(TW_HUGE_PAGE - 1);
	void *at = aligned_alloc(TW_HUGE_PAGE, *bytes);
	if (at)
		madvise(at, *bytes, MADV_HUGEPAGE);
	return at;
}

void *tw_array_more(void *items, size_t used, size_t *bytes)
{
	if (*bytes < TW_HUGE_PAGE || !tw_dear_pages())
		return realloc(items, *bytes);
	return move_to_huge(items, used, bytes);
}

void *tw_array_addresses(size_t bytes, int where)
{
	char *all = mmap(NULL, bytes + TW_HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | where, -1, 0);
	if (all == MAP_FAILED)
		return NULL;
	const size_t before = -(uintptr_t)all & (TW_HUGE_PAGE - 1);
	if (before)
		munmap(all, before);
	munmap(all + before + bytes, TW_HUGE_PAGE - before);
	return all + before;
}

void tw_array_take_pages(void *at, size_t bytes)
{
	enum { PAGE = 4096 };
	const uintptr_t first = (uintptr_t)at & ~(uintptr_t)(PAGE - 1), end = ((uintptr_t)at + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	madvise((void *)first, end - first, MADV_POPULATE_WRITE); /* before Linux 5.14 pages come as they are written */
}

/* How many of the items compare as less than `limit` with the key. */
static size_t count_less(const void *key, const void *items, size_t n, size_t size, tw_compare *compare, int limit)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare((const char *)items + middle * size, key) < limit)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t tw_array_before(const void *key, const void *items, size_t n, size_t size, tw_compare *compare)
{
	return count_less(key, items, n, size, compare, 0);
}

size_t tw_array_until(const void *key, const void *items, size_t n, size_t size, tw_compare *compare)
{
	return count_less(key, items, n, size, compare, 1);
}

int tw_by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

int tw_by_number32(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

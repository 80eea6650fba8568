#include "base/array.h"
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Items not set yet are zeros, also those that were skipped. */
static void test_zeros(void)
{
	uint64_t *items = NULL;
	size_t room = 0, wrong = 0;
	for (size_t i = 0; i < 100000; i += 1 + i / 7) {
		items = tw_array_zeros(items, i, &room, sizeof *items);
		CHECK(items && room > i);
		items[i] = i + 1;
	}
	for (size_t i = 0, next = 0; i < room; i++) {
		wrong += items[i] != (i == next && i < 100000 ? i + 1 : 0);
		next += i == next ? 1 + i / 7 : 0;
	}
	EQUAL(wrong, 0);
	size_t before = room;
	CHECK(!tw_array_zeros(items, SIZE_MAX / 16, &room, sizeof *items));
	EQUAL(room, before);
	free(items);
}

/* More room, small or large: used contents stay, and all of the room is there; if it cannot be had nothing has changed. */
static void test_more(void)
{
	unsigned char *at = NULL;
	size_t used = 0, bytes, wrong = 0;
	for (size_t wanted = 1000; wanted < 20u << 20; wanted = wanted * 7 / 2) {
		bytes = wanted;
		at = tw_array_more(at, used, &bytes);
		CHECK(at && bytes >= wanted);
		for (; used < bytes; used++)
			at[used] = (unsigned char)(used * 7 >> 3);
	}
	for (size_t i = 0; i < used; i++)
		wrong += at[i] != (unsigned char)(i * 7 >> 3);
	EQUAL(wrong, 0);
	bytes = SIZE_MAX / 2 + 1;
	CHECK(!tw_array_more(at, used, &bytes));
	EQUAL(at[used - 1], (unsigned char)((used - 1) * 7 >> 3));
	free(at);
}

/* What is taken has pages, and keeps what it held. (On an old kernel it only keeps that.) */
static void test_pages(void)
{
	enum { PAGE = 4096, PAGES = 8 };
	unsigned char there[PAGES] = {0}, *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(at != MAP_FAILED);
	at[3 * PAGE] = 7;
	const int knows = !madvise(at, PAGE, MADV_POPULATE_WRITE);
	tw_array_take_pages(at + PAGE + 1, 5 * PAGE); /* ends within the seventh */
	EQUAL(mincore(at, PAGES * PAGE, there), 0);
	for (unsigned i = 0; i < PAGES; i++)
		CHECK((there[i] & 1) == (i < 7) || !knows);
	EQUAL(at[3 * PAGE], 7);
	munmap(at, PAGES * PAGE);
}

static void test_search(void)
{
	const uint64_t items[][2] = {{1, 0}, {5, 0}, {5, 1}, {5, 2}, {9, 0}, {UINT64_MAX, 0}};
	const struct {
		uint64_t key;
		size_t before, until;
	} expected[] = {{0, 0, 0}, {1, 0, 1}, {2, 1, 1}, {5, 1, 4}, {6, 4, 4}, {9, 4, 5}, {UINT64_MAX, 5, 6}};
	for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
		EQUAL(tw_array_before(&expected[i].key, items, 6, sizeof items[0], tw_by_number), expected[i].before);
		EQUAL(tw_array_until(&expected[i].key, items, 6, sizeof items[0], tw_by_number), expected[i].until);
	}
	EQUAL(tw_array_until(&expected[3].key, NULL, 0, sizeof items[0], tw_by_number), 0);
}

int main(void)
{
	test_pages();
	test_search();
	test_zeros();
	test_more();
	uint32_t *items = NULL;
	size_t room = 0, moves = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		size_t before = room;
		items = tw_array_room(items, i, &room, sizeof *items);
		CHECK(items && room > i);
		items[i] = i;
		moves += room != before;
	}
	CHECK(moves < 20);
	for (uint32_t i = 0; i < 100000; i++)
		EQUAL(items[i], i);
	size_t before = room;
	CHECK(!tw_array_room(items, SIZE_MAX / 2, &room, sizeof *items));
	CHECK(!tw_array_room(items, SIZE_MAX / 16, &room, sizeof *items));
	EQUAL(room, before);
	EQUAL(items[99999], 99999);
	free(items);
	return UNIT_END();
}

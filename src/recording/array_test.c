#include "recording/array.h"
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>

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

int main(void)
{
	test_zeros();
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

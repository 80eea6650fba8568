#include "recording/array.h"
#include "unit.h"

#include <stdint.h>
#include <stdlib.h>

int main(void)
{
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

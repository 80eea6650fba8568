#include "recording/array.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 64 };

void *tw_array_room(void *items, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return items;
	size_t more = 2 * n + LEAST;
	void *at = more / 2 < n || more > (size_t)-1 / size ? NULL : realloc(items, more * size);
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

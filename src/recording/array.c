#include "recording/array.h"

#include <stdlib.h>

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

#include "recording/slab.h"
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

/* The first one; the others, which lie on huge pages where the kernel has some for who asks. */
enum { SLAB_BYTES = 1 << 20, HUGE_SLAB = 4 << 20 };

struct tw_slab {
	struct tw_slab *next;
	size_t used, room;
	uint64_t bytes[];
};

/* With room for so many bytes. NULL: no memory. */
static struct tw_slab *new_slab(int is_first, size_t bytes)
{
	size_t all = sizeof(struct tw_slab) + bytes;
	if (is_first && bytes <= SLAB_BYTES) {
		struct tw_slab *s = malloc(sizeof *s + SLAB_BYTES);
		if (s)
			*s = (struct tw_slab){.room = SLAB_BYTES};
		return s;
	}
	all = all > HUGE_SLAB ? all : HUGE_SLAB;
	struct tw_slab *s = tw_array_huge(&all);
	if (s)
		*s = (struct tw_slab){.room = all - sizeof *s};
	return s;
}

void *tw_slab_take(struct tw_slab **slabs, size_t bytes)
{
	struct tw_slab *s = *slabs;
	bytes = (bytes + 7) & ~(size_t)7;
	if (!s || s->room - s->used < bytes) {
		s = new_slab(!s, bytes);
		if (!s)
			return NULL;
		s->next = *slabs;
		*slabs = s;
	}
	void *at = (char *)s->bytes + s->used;
	s->used += bytes;
	return at;
}

void tw_slab_free(struct tw_slab *slabs)
{
	for (struct tw_slab *next; slabs; slabs = next) {
		next = slabs->next;
		free(slabs);
	}
}

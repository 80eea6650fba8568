#include "recording/slab.h"

#include <stdint.h>
#include <stdlib.h>

enum { SLAB_BYTES = 1 << 20 };

struct tw_slab {
	struct tw_slab *next;
	size_t used, room;
	uint64_t bytes[];
};

void *tw_slab_take(struct tw_slab **slabs, size_t bytes)
{
	struct tw_slab *s = *slabs;
	bytes = (bytes + 7) & ~(size_t)7;
	if (!s || s->room - s->used < bytes) {
		size_t room = bytes > SLAB_BYTES ? bytes : SLAB_BYTES;
		s = malloc(sizeof *s + room);
		if (!s)
			return NULL;
		*s = (struct tw_slab){.next = *slabs, .room = room};
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

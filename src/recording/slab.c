#include "recording/slab.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The first one; the others, which lie on huge pages where the kernel has some for who asks. */
enum { SLAB_BYTES = 1 << 20, HUGE_SLAB = 4 << 20, HUGE_PAGE = 2 << 20 };

struct tw_slab {
	struct tw_slab *next;
	size_t used, room;
	uint64_t bytes[];
};

/* With room for so many bytes. NULL: no memory. */
static struct tw_slab *new_slab(int is_first, size_t bytes)
{
	const size_t all = sizeof(struct tw_slab) + bytes;
	const size_t huge = all > HUGE_SLAB ? (all + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1) : HUGE_SLAB;
	if (is_first && bytes <= SLAB_BYTES) {
		struct tw_slab *s = malloc(sizeof *s + SLAB_BYTES);
		if (s)
			*s = (struct tw_slab){.room = SLAB_BYTES};
		return s;
	}
	struct tw_slab *s = aligned_alloc(HUGE_PAGE, huge);
	if (!s)
		return NULL;
	madvise(s, huge, MADV_HUGEPAGE);
	*s = (struct tw_slab){.room = huge - sizeof *s};
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

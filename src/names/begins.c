#include "names/begins.h"
#include "base/array.h"

#include <stdlib.h>

/* Upper bound of the code inserted at the start of a function. */
enum { MOST_INSERTED = 64 };

static int by_address(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

int tw_begins_find(const struct tw_recording *r, struct tw_begins *out)
{
	size_t room = 0;
	*out = (struct tw_begins){0};
	for (size_t i = 0; tw_recording_info(r)->instrumented && i < tw_recording_n_descriptors(r); i++) {
		const struct tw_descriptor *d = tw_recording_descriptor_at(r, i);
		for (unsigned k = 0; k < d->n_blocks; k++) {
			uint64_t *pcs = tw_array_room(out->pcs, out->n, &room, sizeof *pcs);
			if (!pcs)
				return 0;
			out->pcs = pcs;
			pcs[out->n++] = tw_descriptor_blocks(d)[k].pc;
		}
	}
	if (out->n)
		qsort(out->pcs, out->n, sizeof *out->pcs, by_address);
	return 1;
}

void tw_begins_free(struct tw_begins *b)
{
	free(b->pcs);
	*b = (struct tw_begins){0};
}

int tw_begins_at(const struct tw_begins *b, uint64_t start, uint64_t pc)
{
	if (!b->n || pc < start || pc - start > MOST_INSERTED)
		return 0;
	const uint64_t before = start - 1;
	const size_t first = start ? tw_array_until(&before, b->pcs, b->n, sizeof before, by_address) : 0;
	return first < b->n && b->pcs[first] == pc;
}

#include "analyzers/rows.h"
#include "base/array.h"

#include <stdlib.h>
#include <trackway/recording.h>

static size_t place_of(const struct tw_rows *r, uint64_t a, uint64_t b)
{
	uint64_t h = (a * 0x9e3779b97f4a7c15ull ^ b) * 0xc2b2ae3d27d4eb4full;
	size_t i = (size_t)(h >> 24) & (r->n_slots - 1);
	for (; r->slots[i]; i = (i + 1) & (r->n_slots - 1)) {
		const uint64_t *key = tw_rows_key(r, r->slots[i] - 1);
		if (key[0] == a && key[1] == b)
			break;
	}
	return i;
}

static int grow(struct tw_rows *r)
{
	enum { FIRST = 256 };
	uint32_t *old = r->slots;
	r->n_slots = r->n_slots ? 2 * r->n_slots : FIRST;
	r->slots = calloc(r->n_slots, sizeof *r->slots);
	for (size_t i = 0; r->slots && i < r->n; i++)
		r->slots[place_of(r, tw_rows_key(r, i)[0], tw_rows_key(r, i)[1])] = (uint32_t)i + 1;
	free(old);
	if (r->slots)
		return 1;
	r->n_slots = 0;
	return 0;
}

uint32_t tw_rows_number(struct tw_rows *r, uint64_t a, uint64_t b)
{
	if (2 * r->n >= r->n_slots && !grow(r))
		return TW_ROWS_NONE;
	size_t i = place_of(r, a, b);
	if (r->slots[i])
		return r->slots[i] - 1;
	uint64_t *items = r->n < TW_ROWS_NONE - 1 ? tw_array_zeros(r->items, r->n, &r->room, (r->width + 2) * sizeof *items) : NULL;
	if (!items)
		return TW_ROWS_NONE;
	r->items = items;
	r->slots[i] = (uint32_t)r->n + 1;
	tw_rows_key(r, r->n)[0] = a;
	tw_rows_key(r, r->n)[1] = b;
	return (uint32_t)r->n++;
}

uint32_t tw_rows_find(const struct tw_rows *r, uint64_t a, uint64_t b)
{
	uint32_t slot = r->n_slots ? r->slots[place_of(r, a, b)] : 0;
	return slot ? slot - 1 : TW_ROWS_NONE;
}

int tw_rows_merge(struct tw_rows *r, const struct tw_rows *more)
{
	for (size_t i = 0; i < more->n; i++) {
		const uint64_t *from = tw_rows_key(more, i);
		uint64_t *to = tw_rows_at(r, from[0], from[1]);
		for (unsigned k = 0; to && k < r->width; k++)
			to[k] += from[2 + k];
		if (!to)
			return TW_ERR_MEMORY;
	}
	return 0;
}

void tw_rows_free(struct tw_rows *r)
{
	free(r->items);
	free(r->slots);
	*r = (struct tw_rows){.width = r->width};
}

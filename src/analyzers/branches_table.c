#include "analyzers/branches_table.h"
#include "base/array.h"

#include <stdlib.h>
#include <trackway/recording.h>

static uint32_t place_of(const struct tw_branches *t, uint64_t pc, uint64_t target, uint32_t memory)
{
	uint64_t h = ((pc * 0x9e3779b97f4a7c15ull ^ target) * 0xc2b2ae3d27d4eb4full) ^ memory;
	uint32_t i = (uint32_t)(h >> 29) & (t->n_slots - 1);
	for (; t->slots[i]; i = (i + 1) & (t->n_slots - 1)) {
		const struct tw_branch *b = &t->items[t->slots[i] - 1];
		if (b->pc == pc && b->target == target && b->memory == memory)
			break;
	}
	return i;
}

static int grow(struct tw_branches *t)
{
	enum { FIRST = 1024 };
	uint32_t *old = t->slots;
	t->n_slots = t->n_slots ? 2 * t->n_slots : FIRST;
	t->slots = calloc(t->n_slots, sizeof *t->slots);
	for (size_t i = 0; t->slots && i < t->n; i++)
		t->slots[place_of(t, t->items[i].pc, t->items[i].target, t->items[i].memory)] = (uint32_t)i + 1;
	free(old);
	return t->slots != NULL;
}

struct tw_branch *tw_branches_of(struct tw_branches *t, uint64_t pc, uint64_t target, uint32_t memory, uint32_t thread)
{
	if (2 * t->n >= t->n_slots && !grow(t))
		return NULL;
	uint32_t i = place_of(t, pc, target, memory);
	if (t->slots[i])
		return &t->items[t->slots[i] - 1];
	struct tw_branch *items = tw_array_room(t->items, t->n, &t->room, sizeof *items);
	if (!items)
		return NULL;
	t->items = items;
	items[t->n] = (struct tw_branch){.pc = pc, .target = target, .memory = memory, .thread = thread};
	t->slots[i] = (uint32_t)++t->n;
	return &items[t->n - 1];
}

int tw_branches_add(struct tw_branches *t, const struct tw_branch *more, uint32_t memory)
{
	struct tw_branch *b = tw_branches_of(t, more->pc, more->target, memory, more->thread);
	if (!b)
		return TW_ERR_MEMORY;
	b->taken += more->taken;
	b->not_taken += more->not_taken;
	for (int k = 0; k < TW_PREDICTORS; k++)
		b->wrong[k] += more->wrong[k];
	return 0;
}

void tw_branches_free(struct tw_branches *t)
{
	free(t->items);
	free(t->slots);
	*t = (struct tw_branches){0};
}

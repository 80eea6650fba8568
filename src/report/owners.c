#include "report/owners.h"
#include "base/array.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tw_owner_start {
	uint32_t object;
	uint32_t none; /* 1: not a start; it stands before the first start of its object, for `asked` */
	uint64_t vaddr;
	uint64_t asked; /* end of the highest address asked for before the next start; 0: none was */
};

static void forget_owners(struct tw_owners *o)
{
	for (uint32_t i = 0; i < o->n; i++)
		free(o->items[i].name);
	o->n = 0;
	tw_texts_free(&o->keys);
}

int tw_owners_again(struct tw_owners *o)
{
	if (!o->outdated)
		return 0;
	o->outdated = 0;
	forget_owners(o);
	for (size_t i = 0; i < o->n_starts; i++)
		o->starts[i].asked = 0;
	return 1;
}

void tw_owners_free(struct tw_owners *o)
{
	forget_owners(o);
	free(o->items);
	free(o->starts);
	tw_texts_free(&o->objects);
	memset(o, 0, sizeof *o);
}

/* ---- functions without symbols ---- */

static int by_start(const void *a, const void *b)
{
	const struct tw_owner_start *x = a, *y = b;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

/* How many starts are at or before a place. */
static size_t starts_until(const struct tw_owners *o, uint32_t object, uint64_t vaddr)
{
	struct tw_owner_start key = {.object = object, .vaddr = vaddr};
	return tw_array_until(&key, o->starts, o->n_starts, sizeof key, by_start);
}

/* The nearest start at or before a place, or what stands before the first one. NULL: neither. */
static struct tw_owner_start *start_before(const struct tw_owners *o, uint32_t object, uint64_t vaddr)
{
	size_t at = starts_until(o, object, vaddr);
	return at && o->starts[at - 1].object == object ? &o->starts[at - 1] : NULL;
}

static int insert_start(struct tw_owners *o, const struct tw_owner_start *start)
{
	size_t at = starts_until(o, start->object, start->vaddr);
	struct tw_owner_start *starts = tw_array_room(o->starts, o->n_starts, &o->starts_room, sizeof *starts);
	if (!starts)
		return TW_ERR_MEMORY;
	o->starts = starts;
	memmove(o->starts + at + 1, o->starts + at, (o->n_starts++ - at) * sizeof *o->starts);
	o->starts[at] = *start;
	return 0;
}

static int add_start(struct tw_owners *o, uint32_t object, uint64_t vaddr)
{
	struct tw_owner_start *before = start_before(o, object, vaddr);
	if (before && before->vaddr == vaddr && !before->none)
		return 0;
	o->outdated |= before && before->asked > vaddr;
	if (before && before->vaddr == vaddr) {
		before->none = 0;
		return 0;
	}
	return insert_start(o, &(struct tw_owner_start){.object = object, .vaddr = vaddr});
}

/*
 * Finds the start of the function that contains code without a symbol: the nearest start before, `least` if none is
 * above that, `vaddr` if that is 0. 0 or TW_ERR_MEMORY.
 */
static int find_start(struct tw_owners *o, uint32_t object, uint64_t vaddr, uint64_t least, uint64_t *found)
{
	struct tw_owner_start *start = start_before(o, object, vaddr);
	if (!start || start->vaddr < least) {
		if (insert_start(o, &(struct tw_owner_start){.object = object, .vaddr = least, .none = !least}))
			return TW_ERR_MEMORY;
		start = start_before(o, object, vaddr);
	}
	if (start->asked <= vaddr)
		start->asked = vaddr + 1;
	*found = start->none ? vaddr : start->vaddr;
	return 0;
}

static uint32_t object_of(struct tw_owners *o, uint32_t image, uint64_t pc, uint64_t *vaddr)
{
	struct tw_name_place place;
	tw_names_place(o->names, image, pc, &place);
	*vaddr = place.vaddr;
	return tw_texts_number(&o->objects, place.object);
}

static int add_target(struct tw_owners *o, uint32_t pid, uint64_t pc)
{
	uint64_t vaddr, least;
	uint32_t object = object_of(o, pid, pc, &vaddr);
	if (object != TW_NO_TEXT && tw_names_is_bounded(o->names, pid, pc, &least))
		return 0;
	return object == TW_NO_TEXT ? TW_ERR_MEMORY : add_start(o, object, vaddr);
}

int tw_owners_init(struct tw_owners *o, struct tw_names *names, const struct tw_recording *r)
{
	int error = 0;
	*o = (struct tw_owners){.names = names};
	for (size_t i = 0; i < tw_recording_n_descriptors(r) && !error; i++) {
		const struct tw_descriptor *d = tw_recording_descriptor_at(r, i);
		const struct tw_block *b = tw_descriptor_blocks(d);
		for (unsigned k = 0; k < d->n_blocks && !error; k++)
			error = b[k].end == TW_END_CALL ? add_target(o, d->pid, b[k].target) : 0;
	}
	return error;
}

/* A function without a symbol, at or above `least`. `name` becomes its apparent start, as text. */
static int guess(struct tw_owners *o, uint32_t object, uint64_t pc, int called, uint64_t least, struct tw_code_name *name, char text[300])
{
	uint64_t start = name->vaddr;
	int error = called ? add_start(o, object, name->vaddr) : 0;
	if (!error)
		error = find_start(o, object, name->vaddr, least, &start);
	name->offset = name->vaddr - start;
	name->start = pc - name->offset;
	snprintf(text, 300, "%.256s+0x%llx", tw_base_name(o->objects.items[object]), (unsigned long long)start);
	name->function = text;
	return error;
}

/* ---- all functions ---- */

static int add_owner(struct tw_owners *o, const struct tw_code_name *name, uint32_t object, uint32_t image)
{
	struct tw_owner *items = tw_array_room(o->items, o->n, &o->room, sizeof *items);
	if (!items)
		return TW_ERR_MEMORY;
	o->items = items;
	struct tw_owner owner = {.name = strdup(name->function), .object = object, .image = image, .pc = name->start};
	if (!owner.name)
		return TW_ERR_MEMORY;
	o->items[o->n++] = owner;
	return 0;
}

int tw_owners_find(struct tw_owners *o, uint32_t image, uint64_t pc, int called, struct tw_owned *out)
{
	struct tw_code_name name;
	char key[64], text[300];
	uint64_t least;
	int error = 0;
	tw_names_code(o->names, image, pc, &name);
	uint64_t vaddr;
	uint32_t object = object_of(o, TW_SYMBOLS_IMAGE(image), pc, &vaddr);
	if (object == TW_NO_TEXT)
		return TW_ERR_MEMORY;
	if (!name.known && !tw_names_is_bounded(o->names, TW_SYMBOLS_IMAGE(image), pc, &least))
		error = guess(o, object, pc, called, least, &name, text);
	snprintf(key, sizeof key, "%x %llx", object, (unsigned long long)(name.vaddr - name.offset));
	*out = (struct tw_owned){tw_texts_number(&o->keys, key), tw_names_begins(o->names, pc, &name), name.plt};
	if (out->owner == TW_NO_TEXT)
		return TW_ERR_MEMORY;
	return !error && out->owner == o->n ? add_owner(o, &name, object, image) : error;
}

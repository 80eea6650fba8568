#include "analyzers/callpath.h"
#include "analyzers/by_place.h"
#include "base/array.h"
#include "names/places.h"

#include <stdlib.h>
#include <string.h>

/* ---- the frames of a thread ---- */

static int push(struct tw_callpath *p, uint64_t slot, uint64_t back)
{
	while (p->n && p->frames[p->n - 1].slot <= slot)
		p->n--;
	struct tw_callpath_frame *frames = tw_array_room(p->frames, p->n, &p->room, sizeof *frames);
	if (!frames)
		return TW_ERR_MEMORY;
	p->frames = frames;
	frames[p->n++] = (struct tw_callpath_frame){slot, back, 0};
	return 0;
}

int tw_callpath_take(struct tw_callpath *p, const struct tw_block_run *b, const uint64_t *addr, size_t n_refs)
{
	const struct tw_block *code = &tw_descriptor_blocks(b->descriptor)[b->block];
	if (!n_refs || b->n_insns != code->n_insns)
		return 0;
	if (code->end == TW_END_CALL || code->end == TW_END_ICALL)
		return push(p, addr[n_refs - 1], code->pc + code->bytes);
	if (code->end == TW_END_RETURN)
		while (p->n && p->frames[p->n - 1].slot <= addr[n_refs - 1])
			p->n--;
	return 0;
}

void tw_callpath_free(struct tw_callpath *p)
{
	free(p->frames);
	memset(p, 0, sizeof *p);
}

/* ---- numbers ---- */

static size_t hash_of(uint32_t parent, uint64_t back, uint32_t image)
{
	uint64_t h = (back * 0x9e3779b97f4a7c15ull ^ parent) * 0xbf58476d1ce4e5b9ull ^ image;
	return (size_t)((h * 0x94d049bb133111ebull) >> 32);
}

static uint32_t *find_slot(const struct tw_callpaths *all, uint32_t parent, uint64_t back, uint32_t image)
{
	size_t i = hash_of(parent, back, image) & (all->n_slots - 1);
	for (; all->slots[i]; i = (i + 1) & (all->n_slots - 1)) {
		const struct tw_callpath_node *n = &all->nodes[all->slots[i]];
		if (n->parent == parent && n->back == back && n->image == image)
			break;
	}
	return &all->slots[i];
}

/* Room for one node more. 0: there is no memory. */
static int make_room(struct tw_callpaths *all)
{
	enum { FIRST = 1024 };
	struct tw_callpath_node *nodes = tw_array_room(all->nodes, all->n, &all->room, sizeof *nodes);
	if (!nodes)
		return 0;
	all->nodes = nodes;
	if (!all->n)
		nodes[all->n++] = (struct tw_callpath_node){0};
	if (2 * all->n < all->n_slots)
		return 1;
	size_t n_slots = all->n_slots ? 2 * all->n_slots : FIRST;
	uint32_t *slots = calloc(n_slots, sizeof *slots);
	if (!slots)
		return 0;
	free(all->slots);
	all->slots = slots;
	all->n_slots = n_slots;
	for (uint32_t i = 1; i < all->n; i++)
		*find_slot(all, nodes[i].parent, nodes[i].back, nodes[i].image) = i;
	return 1;
}

static uint32_t node_of(struct tw_callpaths *all, uint32_t parent, uint64_t back, uint32_t image)
{
	if (!make_room(all) || !make_room(all)) /* the first time, of the empty one and this */
		return 0;
	uint32_t *slot = find_slot(all, parent, back, image);
	if (!*slot) {
		*slot = (uint32_t)all->n;
		all->nodes[all->n++] = (struct tw_callpath_node){back, parent, image};
	}
	return *slot;
}

/* Of the path of the first n frames. */
static uint32_t number_frames(struct tw_callpath *p, size_t n, struct tw_callpaths *all, uint32_t image)
{
	size_t i = n;
	while (i && !p->frames[i - 1].node)
		i--;
	uint32_t node = i ? p->frames[i - 1].node : 0;
	for (; i < n; i++)
		p->frames[i].node = node = node_of(all, node, p->frames[i].back, image);
	return node;
}

uint32_t tw_callpath_number(struct tw_callpath *p, struct tw_callpaths *all, uint32_t image)
{
	return number_frames(p, p->n, all, image);
}

uint32_t tw_callpath_of_call(struct tw_callpath *p, struct tw_callpaths *all, uint32_t image, uint64_t slot, uint64_t back)
{
	size_t n = p->n;
	while (n && p->frames[n - 1].slot <= slot)
		n--;
	return node_of(all, number_frames(p, n, all, image), back, image);
}

void tw_callpaths_free(struct tw_callpaths *all)
{
	free(all->nodes);
	free(all->slots);
	memset(all, 0, sizeof *all);
}

/* ---- names ---- */

/*
 * Size for one function and its place, which is cut so that others fit; and for all that are inlined at one place,
 * C++ templates with names of some hundred characters.
 */
enum { FRAME = 300, PLACE = 4096 };

void tw_callpath_place(struct tw_names *names, uint32_t image, uint64_t pc, int call, char *to, size_t size)
{
	struct tw_code_name name;
	size_t at = 0;
	tw_names_code(names, image, pc - (call != 0), &name);
	if (!name.line || !name.file) {
		snprintf(to, size, "%s+0x%llx", name.function, (unsigned long long)name.offset);
		return;
	}
	for (unsigned k = 0; k < name.n_frames && at < size; k++) {
		const struct tw_name_frame *f = &name.frame[k];
		char where[FRAME];
		if (f->file && f->line)
			tw_place_put(where, sizeof where, f->function, f->file, f->line);
		else
			snprintf(where, sizeof where, "%s", f->function);
		int n = snprintf(to + at, size - at, "%s%s", k ? TW_ANSWER_CALLED_BY : "", where);
		at += n > 0 ? (size_t)n : 0;
	}
}

void tw_callpath_text(const struct tw_callpaths *all, uint32_t node, struct tw_names *names, unsigned most, char *to, size_t size)
{
	size_t at = 0;
	to[0] = 0;
	for (unsigned k = 0; node && k < most && at + 1 < size; k++, node = all->nodes[node].parent) {
		char place[PLACE];
		tw_callpath_place(names, all->nodes[node].image, all->nodes[node].back, 1, place, sizeof place);
		int n = snprintf(to + at, size - at, "%s%s", k ? TW_ANSWER_CALLED_BY : "", place);
		at += n > 0 ? (size_t)n : 0;
	}
}

void tw_callpath_access(const struct tw_callpaths *all, uint32_t node, struct tw_names *names, unsigned most, uint32_t image, uint64_t pc,
                        char *to, size_t size)
{
	tw_callpath_place(names, image, pc, 0, to, size < PLACE ? size : PLACE);
	const size_t n = strlen(to);
	const int between = node ? snprintf(to + n, size - n, TW_ANSWER_CALLED_BY) : 0;
	if ((size_t)between < size - n)
		tw_callpath_text(all, node, names, most, to + n + between, size - n - (size_t)between);
}

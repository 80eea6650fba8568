#include "analyzers/kinds.h"
#include "analyze/packed.h"
#include "analyzers/pages.h"
#include "base/array.h"

#include <stdlib.h>
#include <sys/syscall.h>

struct tw_kind_place {
	uint64_t key; /* of the page */
	uint8_t kind;
};

static int note_place(struct tw_kinds *k, uint64_t key, enum tw_kind kind)
{
	const struct tw_kind_place *last = k->n ? &k->places[k->n - 1] : NULL;
	if (last && last->key == key && last->kind == kind)
		return 0;
	struct tw_kind_place *places = tw_array_room(k->places, k->n, &k->room, sizeof *places);
	if (!places)
		return TW_ERR_MEMORY;
	k->places = places;
	places[k->n++] = (struct tw_kind_place){key, (uint8_t)kind};
	return 0;
}

int tw_kinds_event(struct tw_kinds *k, uint32_t process, const struct tw_event *e)
{
	const struct tw_syscall *call = e->payload;
	if (e->type == TW_EVENT_KEYFRAME)
		return note_place(k, tw_page_key(process, ((const struct tw_keyframe *)e->payload)->regs[TW_RSP]), TW_KIND_STACK);
	if (e->type == TW_EVENT_SYSCALL && call->number == SYS_brk && call->result > 0)
		return note_place(k, tw_page_key(process, (uint64_t)call->result), TW_KIND_HEAP);
	return 0;
}

int tw_kinds_merge(struct tw_kinds *k, const struct tw_kinds *later)
{
	int error = 0;
	for (size_t i = 0; i < later->n && !error; i++)
		error = note_place(k, later->places[i].key, later->places[i].kind);
	return error;
}

int tw_kinds_pack(const struct tw_kinds *k, FILE *to)
{
	return tw_pack_array(to, k->places, k->n, sizeof *k->places);
}

int tw_kinds_unpack(struct tw_kinds *k, FILE *from)
{
	return tw_unpack_array(from, (void **)&k->places, &k->n, &k->room, sizeof *k->places);
}

/* ---- pages ---- */

/* The touched pages that are contiguous with one containing a stack pointer. */
static void mark_stack(uint64_t key, const uint64_t *pages, size_t n, uint8_t *kinds)
{
	size_t at = tw_array_before(&key, pages, n, sizeof *pages, tw_by_number);
	if (at == n || pages[at] != key)
		return;
	for (size_t i = at; i < n && pages[i] - pages[at] == i - at && !kinds[i]; i++)
		kinds[i] = TW_KIND_STACK;
	for (size_t i = at; i-- > 0 && pages[at] - pages[i] == at - i && !kinds[i];)
		kinds[i] = TW_KIND_STACK;
}

/* A process's heap is from the lowest to the highest end that it ever had. */
static void mark_heap(const struct tw_kind_place *places, size_t n_places, const uint64_t *pages, size_t n, uint8_t *kinds)
{
	uint64_t end = places[n_places - 1].key;
	for (size_t i = tw_array_before(&places[0].key, pages, n, sizeof *pages, tw_by_number); i < n && pages[i] < end; i++)
		kinds[i] = TW_KIND_HEAP;
}

/* Heaps come first, which lie below stacks that grow towards them. */
static int by_kind_and_key(const void *a, const void *b)
{
	const struct tw_kind_place *x = a, *y = b;
	if (x->kind != y->kind)
		return x->kind > y->kind ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static int same_heap(const struct tw_kind_place *a, const struct tw_kind_place *b)
{
	return a->kind == TW_KIND_HEAP && b->kind == TW_KIND_HEAP && tw_page_process(a->key) == tw_page_process(b->key);
}

void tw_kinds_find(struct tw_kinds *k, const uint64_t *pages, size_t n, uint8_t *kinds)
{
	for (size_t i = 0; i < n; i++)
		kinds[i] = TW_KIND_OTHER;
	if (k->n)
		qsort(k->places, k->n, sizeof *k->places, by_kind_and_key);
	for (size_t i = 0, end; i < k->n; i = end) {
		for (end = i + 1; end < k->n && same_heap(&k->places[i], &k->places[end]); end++)
			;
		if (k->places[i].kind == TW_KIND_HEAP)
			mark_heap(&k->places[i], end - i, pages, n, kinds);
		else
			mark_stack(k->places[i].key, pages, n, kinds);
	}
}

const char *tw_kind_name(uint8_t kind)
{
	static const char *const names[] = {[TW_KIND_OTHER] = "[anonymous]", [TW_KIND_STACK] = "[stack]", [TW_KIND_HEAP] = "[heap]"};
	return names[kind];
}

void tw_kinds_free(struct tw_kinds *k)
{
	free(k->places);
	*k = (struct tw_kinds){0};
}

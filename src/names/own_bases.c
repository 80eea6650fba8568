#include "names/own_bases.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <trackway/event.h>

static int by_place(const void *a, const void *b)
{
	const struct tw_own_base *x = a, *y = b;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->base > y->base) - (x->base < y->base);
}

static int is_newest(const struct tw_own_bases *b, uint32_t image, uint64_t base)
{
	return b->n && b->items[b->n - 1].image == image && b->items[b->n - 1].base == base;
}

/* 0: no memory. */
static int add(struct tw_own_bases *b, uint32_t image, uint64_t base)
{
	if (!base || is_newest(b, image, base))
		return 1;
	struct tw_own_base *items = tw_array_room(b->items, b->n, &b->room, sizeof *items);
	if (!items)
		return 0;
	b->items = items;
	items[b->n++] = (struct tw_own_base){image, base};
	return 1;
}

static uint64_t base_of(const struct tw_event_header *h)
{
	const struct tw_segbase *seg = (const void *)(h + 1);
	if (h->type == TW_EVENT_KEYFRAME)
		return ((const struct tw_keyframe *)(const void *)(h + 1))->seg_base[TW_SEG_FS];
	return h->type == TW_EVENT_SEGBASE && seg->seg == TW_SEG_FS ? seg->base : 0;
}

static int add_of_events(struct tw_own_bases *b, uint32_t image, const struct tw_chunk *chunk)
{
	size_t at = 0;
	int ok = 1;
	for (const struct tw_event_header *h; ok && (h = tw_event_next(chunk->e, chunk->n_e, &at));)
		ok = add(b, image, base_of(h));
	return ok;
}

static void sort(struct tw_own_bases *b)
{
	size_t n = 0;
	if (b->n)
		qsort(b->items, b->n, sizeof *b->items, by_place);
	for (size_t i = 0; i < b->n; i++)
		if (!n || by_place(&b->items[n - 1], &b->items[i]))
			b->items[n++] = b->items[i];
	b->n = n;
}

int tw_own_bases_find(const struct tw_places *p, struct tw_own_bases *out)
{
	const struct tw_recording *r = p->recording;
	struct tw_coded_chunk c = {0};
	int ok = 1;
	*out = (struct tw_own_bases){0};
	for (size_t i = 0; i < tw_recording_n_threads(r) && ok; i++)
		for (size_t k = 0; k < tw_recording_thread(r, i)->n_chunks && ok; k++)
			if (!tw_recording_events(r, i, k, &c))
				ok = add_of_events(out, p->image_of[i], &c.chunk);
	tw_coded_chunk_release(&c);
	sort(out);
	return ok;
}

void tw_own_bases_free(struct tw_own_bases *b)
{
	free(b->items);
}

uint64_t tw_own_base_above(const struct tw_own_bases *b, uint32_t image, uint64_t address)
{
	const struct tw_own_base key = {image, address};
	const size_t at = tw_array_until(&key, b->items, b->n, sizeof key, by_place);
	return at < b->n && b->items[at].image == image ? b->items[at].base : 0;
}

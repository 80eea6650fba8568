#include "analyzers/pages.h"
#include "analyze/packed.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

static size_t place_of(const struct tw_pages *p, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (p->room - 1);
	while (p->items[i].lines && p->items[i].key != key)
		i = (i + 1) & (p->room - 1);
	return i;
}

static int grow(struct tw_pages *p)
{
	enum { FIRST_ROOM = 256 };
	struct tw_pages more = {.room = p->room ? 2 * p->room : FIRST_ROOM};
	more.items = calloc(more.room, sizeof *more.items);
	if (!more.items)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < p->room; i++)
		if (p->items[i].lines)
			more.items[place_of(&more, p->items[i].key)] = p->items[i];
	free(p->items);
	p->items = more.items;
	p->room = more.room;
	return 0;
}

/* The page of this key, perhaps a free place that is to become it. NULL: no memory. */
static struct tw_page *page_of(struct tw_pages *p, uint64_t key)
{
	if (2 * p->n >= p->room && grow(p))
		return NULL;
	struct tw_page *page = &p->items[place_of(p, key)];
	p->n += !page->lines;
	page->key = key;
	return page;
}

int tw_pages_touch(struct tw_pages *p, uint64_t key, uint64_t lines, uint32_t window, struct tw_pages_added *added)
{
	struct tw_page *page = page_of(p, key);
	if (!page)
		return TW_ERR_MEMORY;
	if (!page->lines || page->window != window) {
		added->page++;
		page->window = window;
		page->now = 0;
	}
	added->lines += (unsigned)__builtin_popcountll(lines & ~page->now);
	page->now |= lines;
	for (uint64_t fresh = lines & ~page->lines; fresh; fresh &= fresh - 1)
		page->first[__builtin_ctzll(fresh)] = window;
	page->lines |= lines;
	return 0;
}

struct tw_page *tw_pages_find(const struct tw_pages *p, uint64_t key)
{
	struct tw_page *page = p->room ? &p->items[place_of(p, key)] : NULL;
	return page && page->lines ? page : NULL;
}

static int merge_page(struct tw_pages *p, const struct tw_page *from, uint32_t base)
{
	struct tw_page *to = page_of(p, from->key);
	if (!to)
		return TW_ERR_MEMORY;
	for (uint64_t fresh = from->lines & ~to->lines; fresh; fresh &= fresh - 1)
		to->first[__builtin_ctzll(fresh)] = base + from->first[__builtin_ctzll(fresh)];
	if (!to->lines || to->window != base + from->window)
		to->now = 0;
	to->window = base + from->window;
	to->now |= from->now;
	to->lines |= from->lines;
	return 0;
}

int tw_pages_merge(struct tw_pages *p, const struct tw_pages *later, uint32_t base)
{
	int error = 0;
	for (size_t i = 0; i < later->room && !error; i++)
		if (later->items[i].lines)
			error = merge_page(p, &later->items[i], base);
	return error;
}

int tw_pages_pack(const struct tw_pages *p, FILE *to)
{
	int error = tw_pack_number(to, p->n);
	for (size_t i = 0; i < p->room && !error; i++)
		if (p->items[i].lines)
			error = tw_pack_bytes(to, &p->items[i], sizeof p->items[i]);
	return error;
}

static int is_possible(const struct tw_page *page, size_t n_windows)
{
	for (uint64_t lines = page->lines; lines; lines &= lines - 1)
		if (page->first[__builtin_ctzll(lines)] >= n_windows)
			return 0;
	return page->lines && page->window < n_windows;
}

int tw_pages_unpack(struct tw_pages *p, size_t n_windows, FILE *from)
{
	uint64_t n;
	int error = tw_unpack_number(from, &n);
	for (struct tw_page page; !error && p->n < n;) {
		size_t before = p->n;
		error = tw_unpack_bytes(from, &page, sizeof page);
		if (!error)
			error = is_possible(&page, n_windows) ? merge_page(p, &page, 0) : TW_ERR_DAMAGED;
		if (!error && p->n == before)
			error = TW_ERR_DAMAGED;
	}
	return error;
}

void tw_pages_free(struct tw_pages *p)
{
	free(p->items);
	memset(p, 0, sizeof *p);
}

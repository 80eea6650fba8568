#include "html/heat.h"

#include <stdlib.h>
#include <string.h>

static void forget(struct tw_heat *h)
{
	memset(h->recent, 0, sizeof h->recent);
}

int tw_heat_init(struct tw_heat *h)
{
	*h = (struct tw_heat){.shift = TW_HEAT_FINEST, .room = 4096};
	h->cells = calloc(h->room, sizeof *h->cells);
	return h->cells != NULL;
}

void tw_heat_free(struct tw_heat *h)
{
	free(h->cells);
	h->cells = NULL;
	h->n = h->room = 0;
}

void tw_heat_at(struct tw_heat *h, uint32_t thread, uint32_t stretch)
{
	if (h->thread == thread && h->stretch == stretch)
		return;
	h->thread = thread;
	h->stretch = stretch;
	forget(h);
}

static int is_free(const struct tw_heat_cell *c)
{
	return !c->reads && !c->writes;
}

/* The cell of a page, or the free place for it. */
static struct tw_heat_cell *find(const struct tw_heat *h, uint64_t page, uint32_t thread, uint32_t stretch)
{
	uint64_t key = (page ^ (uint64_t)thread << 44 ^ (uint64_t)stretch << 24) * 0x9e3779b97f4a7c15u;
	for (size_t i = key >> 32;; i++) {
		struct tw_heat_cell *c = &h->cells[i & (h->room - 1)];
		if (is_free(c) || (c->page == page && c->thread == thread && c->stretch == stretch))
			return c;
	}
}

/* Moves all cells to a table of `room` places; the page size is doubled `coarser` times. */
static int rebuild(struct tw_heat *h, size_t room, unsigned coarser)
{
	struct tw_heat old = *h;
	h->cells = calloc(room, sizeof *h->cells);
	if (!h->cells) {
		*h = old;
		return 0;
	}
	h->room = room;
	h->n = 0;
	h->shift += coarser;
	forget(h);
	for (size_t i = 0; i < old.room; i++) {
		const struct tw_heat_cell *from = &old.cells[i];
		if (is_free(from))
			continue;
		struct tw_heat_cell *to = find(h, from->page >> coarser, from->thread, from->stretch);
		h->n += is_free(to);
		*to = (struct tw_heat_cell){from->page >> coarser,    from->thread, from->stretch, 0, to->reads + from->reads,
		                            to->writes + from->writes};
	}
	free(old.cells);
	return 1;
}

/* Before adding a cell: at most half of the places may be used. */
static int make_room(struct tw_heat *h)
{
	while (h->n >= TW_HEAT_CELLS && h->shift < 47)
		if (!rebuild(h, h->room, 1))
			return 0;
	return 2 * (h->n + 1) <= h->room || rebuild(h, 2 * h->room, 0);
}

static int add_to(struct tw_heat *h, const struct tw_heat_cell *what)
{
	struct tw_heat_cell *c = find(h, what->page, what->thread, what->stretch);
	if (is_free(c)) {
		unsigned shift = h->shift;
		if (!make_room(h))
			return 0;
		c = find(h, what->page >> (h->shift - shift), what->thread, what->stretch);
		h->n += is_free(c);
		*c = (struct tw_heat_cell){what->page >> (h->shift - shift), what->thread, what->stretch, 0, c->reads, c->writes};
	}
	c->reads += what->reads;
	c->writes += what->writes;
	h->recent[c->page % TW_HEAT_RECENT] = c;
	return 1;
}

int tw_heat_add_other(struct tw_heat *h, uint64_t page, uint64_t reads, uint64_t writes)
{
	return add_to(h, &(struct tw_heat_cell){page, h->thread, h->stretch, 0, reads, writes});
}

int tw_heat_merge(struct tw_heat *h, const struct tw_heat *more)
{
	if (more->shift > h->shift && !rebuild(h, h->room, more->shift - h->shift))
		return 0;
	forget(h);
	for (size_t i = 0; i < more->room; i++) {
		struct tw_heat_cell c = more->cells[i];
		if (is_free(&c))
			continue;
		c.page >>= h->shift - more->shift;
		if (!add_to(h, &c))
			return 0;
	}
	forget(h);
	return 1;
}

static int by_page(const void *a, const void *b)
{
	const struct tw_heat_cell *x = a, *y = b;
	if (x->program != y->program)
		return x->program < y->program ? -1 : 1;
	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->stretch > y->stretch) - (x->stretch < y->stretch);
}

const struct tw_heat_cell *tw_heat_sorted(struct tw_heat *h, uint32_t (*program_of)(void *context, uint32_t thread), void *context)
{
	uint32_t thread = UINT32_MAX, program = 0;
	size_t n = 0;
	for (size_t i = 0; i < h->room; i++)
		if (!is_free(&h->cells[i]))
			h->cells[n++] = h->cells[i];
	for (size_t i = 0; i < n; i++) {
		if (h->cells[i].thread != thread)
			program = program_of(context, thread = h->cells[i].thread);
		h->cells[i].program = program;
	}
	forget(h);
	qsort(h->cells, n, sizeof *h->cells, by_page);
	return h->cells;
}

#include "analyze/flow_passes.h"
#include "base/array.h"

#include <stdlib.h>

enum { FIRST_ROOM = 4096 };

void tw_flow_passes_free(struct tw_flow_passes *p)
{
	free(p->items);
	free(p->stretches);
	free(p->edges);
	free(p->table.places);
	*p = (struct tw_flow_passes){0};
}

struct tw_flow_passed *tw_flow_passed_more(struct tw_flow_passes *p, uint32_t number)
{
	struct tw_flow_passed *stretches = tw_array_zeros(p->stretches, number, &p->stretches_room, sizeof *stretches);
	if (!stretches)
		return NULL;
	p->stretches = stretches;
	return &stretches[number];
}

/* ---- by run and stretch ---- */

static uint32_t *find_place(const struct tw_flow_passes *p, const struct tw_flow_table *t, uint32_t run, uint32_t number)
{
	uint64_t h = ((uint64_t)run << 32 | number) * 0x9e3779b97f4a7c15u;
	for (uint32_t at = (uint32_t)(h >> 32);; at++) {
		uint32_t *place = &t->places[at & t->mask];
		if (!*place || (p->items[*place].run == run && p->items[*place].stretch == number))
			return place;
	}
}

struct tw_flow_pass *tw_flow_pass_other(struct tw_flow_passes *p, struct tw_flow_passed *s, uint32_t run, uint32_t number)
{
	uint32_t found = s->recent ? *find_place(p, &p->table, run, number) : 0;
	if (!found)
		return NULL;
	s->recent = found;
	return &p->items[found];
}

/* At most half of the places are taken with one more. */
static int table_room(struct tw_flow_passes *p)
{
	struct tw_flow_table old = p->table, more = {.used = old.used};
	const uint32_t places = old.places ? 2 * (old.mask + 1) : FIRST_ROOM;
	if (old.places && 2 * (uint64_t)(old.used + 1) <= (uint64_t)old.mask + 1)
		return 1;
	more.places = places ? tw_array_table(places, sizeof *more.places) : NULL;
	more.mask = places - 1;
	if (!more.places)
		return 0;
	for (uint32_t i = 1; i < p->n; i++)
		*find_place(p, &more, p->items[i].run, p->items[i].stretch) = i;
	free(old.places);
	p->table = more;
	return 1;
}

/* ---- making one ---- */

void tw_flow_pass_begin(struct tw_flow_passes *p)
{
	p->noted = 0;
}

int tw_flow_pass_edge(struct tw_flow_passes *p, uint32_t edge)
{
	uint32_t *edges = tw_array_room(p->edges, p->n_edges + p->noted, &p->edges_room, sizeof *edges);
	if (!edges)
		return 0;
	p->edges = edges;
	edges[p->n_edges + p->noted++] = edge;
	return 1;
}

int tw_flow_pass_add(struct tw_flow_passes *p, const struct tw_stretch *s, uint32_t run, uint32_t out)
{
	const size_t n = p->n ? p->n : 1;
	struct tw_flow_passed *passed = tw_flow_passed(p, s->number);
	struct tw_flow_pass *items = passed ? tw_array_room(p->items, n, &p->room, sizeof *items) : NULL;
	if (!items || p->n_edges + p->noted > UINT32_MAX)
		return 0;
	p->items = items;
	if (!table_room(p))
		return 0;
	items[n] = (struct tw_flow_pass){run, s->number, out, (uint32_t)p->n_edges, (uint32_t)p->noted, 0};
	*find_place(p, &p->table, run, s->number) = (uint32_t)n;
	p->table.used++;
	p->n = n + 1;
	p->n_edges += p->noted;
	p->noted = 0;
	passed->recent = (uint32_t)n;
	passed->stretch = s;
	return 1;
}

/* ---- into the flow ---- */

void tw_flow_passes_settle(struct tw_flow_passes *p, struct tw_flow *f)
{
	for (size_t i = 1; i < p->n; i++) {
		struct tw_flow_pass *pass = &p->items[i];
		for (uint32_t k = 0; k < pass->n_edges; k++)
			f->edges[p->edges[pass->first_edge + k]].count += pass->times;
		p->stretches[pass->stretch].times += pass->times;
		pass->times = 0;
	}
}

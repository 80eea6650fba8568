#include "analyze/flow_passes.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 4096 };

/* ---- stretches ---- */

void tw_flow_passes_free(struct tw_flow_passes *p)
{
	for (size_t i = 0; i < p->n_rows; i++)
		free(p->rows[i]);
	free(p->rows);
	free(p->items);
	free(p->edges);
	free(p->places);
	free(p->pass_of);
	*p = (struct tw_flow_passes){0};
}

/* On huge pages: it is looked at at random. */
static struct tw_flow_passed *new_row(void)
{
	size_t bytes = TW_FLOW_PASSED_ROW * sizeof(struct tw_flow_passed);
	struct tw_flow_passed *row = tw_array_huge(&bytes);
	return row ? memset(row, 0, bytes) : NULL;
}

/* NULL: no memory. */
static struct tw_flow_passed *make_passed(struct tw_flow_passes *p, uint32_t number)
{
	const size_t row = number / TW_FLOW_PASSED_ROW;
	if (row >= p->n_rows) {
		struct tw_flow_passed **rows = tw_array_zeros(p->rows, row, &p->n_rows, sizeof(struct tw_flow_passed *));
		if (!rows)
			return NULL;
		p->rows = rows;
	}
	if (!p->rows[row])
		p->rows[row] = new_row();
	return tw_flow_passed(p, number);
}

struct tw_flow_passed *tw_flow_passed_know(struct tw_flow_passes *p, const struct tw_stretch *s)
{
	struct tw_flow_passed *known = make_passed(p, s->number);
	if (!known || known->stretch)
		return known;
	known->stretch = s;
	known->n_blocks = s->n_blocks;
	known->leads = (s->n_blocks ? s->blocks[0].first_ref : s->n_refs) != 0;
	return known;
}

/* ---- by run and stretch ---- */

/* Of a pass, or where it belongs. */
static struct tw_flow_pass_place *find_place(const struct tw_flow_passes *p, uint32_t run, uint32_t number)
{
	uint64_t h = ((uint64_t)run << 32 | number) * 0x9e3779b97f4a7c15u;
	for (uint32_t at = (uint32_t)(h >> 32);; at++) {
		struct tw_flow_pass_place *place = &p->places[at & p->mask];
		if (!place->run || (place->run == run && place->number == number))
			return place;
	}
}

/* What one way has counted, to its pass's place. */
static void collect(struct tw_flow_passes *p, struct tw_flow_passed *s, unsigned way)
{
	if (s->times[way])
		find_place(p, s->run[way], s->stretch->number)->times += s->times[way];
	s->times[way] = 0;
}

/* The pass of a way is the one taken last. */
static void take_way(struct tw_flow_passed *s, unsigned way)
{
	const uint32_t run = s->run[way], out = s->out[way], times = s->times[way];
	s->run[way] = s->run[0];
	s->out[way] = s->out[0];
	s->times[way] = s->times[0];
	s->run[0] = run;
	s->out[0] = out;
	s->times[0] = times;
}

/* A pass without a way takes the way of another, and becomes the last one taken. */
static void add_way(struct tw_flow_passes *p, struct tw_flow_passed *s, const struct tw_flow_pass_place *pass)
{
	const unsigned way = 1u + s->turn;
	collect(p, s, way);
	s->run[way] = pass->run;
	s->out[way] = pass->out;
	s->turn = (uint8_t)(way % (TW_FLOW_WAYS - 1));
	take_way(s, way);
}

int tw_flow_pass_other(struct tw_flow_passes *p, struct tw_flow_passed *s, uint32_t run)
{
	for (unsigned way = 1; way < TW_FLOW_WAYS; way++)
		if (s->run[way] == run) {
			take_way(s, way);
			return 1;
		}
	if (!s->run[1]) /* way 1 is filled last: until then every pass has a way */
		return 0;
	const struct tw_flow_pass_place *found = find_place(p, run, s->stretch->number);
	if (!found->run)
		return 0;
	add_way(p, s, found);
	return 1;
}

/* At most half of the places are taken with one more. */
static int table_room(struct tw_flow_passes *p)
{
	const struct tw_flow_passes old = *p;
	const uint32_t places = old.places ? 2 * (old.mask + 1) : FIRST_ROOM;
	if (old.places && 2 * (uint64_t)(old.used + 1) <= (uint64_t)old.mask + 1)
		return 1;
	struct tw_flow_pass_place *more = places ? tw_array_table(places, sizeof *more) : NULL;
	uint32_t *pass_of = more ? tw_array_table(places, sizeof *pass_of) : NULL;
	if (!pass_of) {
		free(more);
		return 0;
	}
	p->places = more;
	p->pass_of = pass_of;
	p->mask = places - 1;
	for (uint32_t i = 0; old.places && i <= old.mask; i++) {
		if (!old.places[i].run)
			continue;
		struct tw_flow_pass_place *place = find_place(p, old.places[i].run, old.places[i].number);
		*place = old.places[i];
		pass_of[place - more] = old.pass_of[i];
	}
	free(old.places);
	free(old.pass_of);
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

int tw_flow_pass_add(struct tw_flow_passes *p, struct tw_flow_passed *s, uint32_t run, uint32_t out)
{
	const size_t n = p->n ? p->n : 1;
	struct tw_flow_pass *items = tw_array_room(p->items, n, &p->room, sizeof *items);
	if (!items || p->n_edges + p->noted > UINT32_MAX)
		return 0;
	p->items = items;
	if (!table_room(p))
		return 0;
	items[n] = (struct tw_flow_pass){s->stretch, run, out, (uint32_t)p->n_edges, (uint32_t)p->noted, 0};
	struct tw_flow_pass_place *place = find_place(p, run, s->stretch->number);
	*place = (struct tw_flow_pass_place){run, s->stretch->number, out, 0};
	p->pass_of[place - p->places] = (uint32_t)n;
	p->used++;
	p->n = n + 1;
	p->n_edges += p->noted;
	p->noted = 0;
	add_way(p, s, place);
	return 1;
}

/* ---- into the flow ---- */

void tw_flow_passes_collect(struct tw_flow_passes *p)
{
	for (size_t i = 0; i < p->n_rows; i++)
		for (size_t k = 0; p->rows[i] && k < TW_FLOW_PASSED_ROW; k++)
			for (unsigned way = 0; way < TW_FLOW_WAYS; way++)
				collect(p, &p->rows[i][k], way);
	for (uint32_t i = 0; p->places && i <= p->mask; i++) {
		if (p->places[i].times)
			p->items[p->pass_of[i]].times += p->places[i].times;
		p->places[i].times = 0;
	}
	p->taken = 0;
}

void tw_flow_passes_settle(struct tw_flow_passes *p, struct tw_flow *f)
{
	tw_flow_passes_collect(p);
	for (size_t i = 1; i < p->n; i++) {
		struct tw_flow_pass *pass = &p->items[i];
		for (uint32_t k = 0; k < pass->n_edges; k++)
			f->edges[p->edges[pass->first_edge + k]].count += pass->times;
		pass->times = 0;
	}
}

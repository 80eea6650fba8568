#include "analyze/flow.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024, INSNS_OF_RUN = 8 };

/* ---- tables ---- */

enum kind { NODE, RUN, EDGE };

struct key {
	uint64_t a, b;
};

static inline struct key key_of(const struct tw_flow *f, enum kind kind, uint32_t i)
{
	switch (kind) {
	case NODE:
		return (struct key){f->nodes[i].pc, (uint64_t)f->nodes[i].image << 8 | f->nodes[i].length};
	case RUN:
		return (struct key){f->runs[i].first, f->runs[i].last};
	default:
		return (struct key){f->edges[i].run, f->edges[i].to};
	}
}

static inline uint32_t hash(enum kind kind, struct key k)
{
	/*
	 * Adjacent code gets adjacent places: each address has few instructions, and few runs begin there. But one run may
	 * have many edges.
	 */
	enum { NODES_BESIDE = 5, RUNS_BESIDE = 4 };
	const unsigned beside = kind == NODE ? NODES_BESIDE : kind == RUN ? RUNS_BESIDE : 0;
	const uint64_t a = kind == EDGE ? k.a ^ k.b * 0x9e3779b97f4a7c15u : k.a >> beside;
	return (uint32_t)(a * 0xbf58476d1ce4e5b9u >> 32) << beside | (uint32_t)(k.a & ((1u << beside) - 1));
}

/* The place of the item with this key in the table, or the empty place for it. */
static inline uint32_t *find_place(const struct tw_flow *f, const struct tw_flow_table *t, enum kind kind, struct key k)
{
	for (uint32_t at = hash(kind, k);; at++) {
		uint32_t *place = &t->places[at & t->mask];
		if (!*place)
			return place;
		struct key other = key_of(f, kind, *place);
		if (other.a == k.a && other.b == k.b)
			return place;
	}
}

static int table_init(struct tw_flow_table *t, uint32_t n)
{
	*t = (struct tw_flow_table){.places = tw_array_table(n, sizeof *t->places), .mask = n - 1};
	return t->places != NULL;
}

/* For a table of at most so many items, often far fewer. */
static uint32_t table_places(size_t items)
{
	uint32_t places = FIRST_ROOM;
	while (places < items && places < 1u << 30)
		places *= 2;
	return places;
}

/* Ensures that at most half of the places are used after adding one. */
static int table_room(struct tw_flow *f, struct tw_flow_table *t, enum kind kind)
{
	struct tw_flow_table more;
	if (2 * (uint64_t)(t->used + 1) <= (uint64_t)t->mask + 1)
		return 1;
	if (t->mask >= UINT32_MAX / 2 || !table_init(&more, 2 * (t->mask + 1)))
		return 0;
	for (uint32_t i = 0; i <= t->mask; i++)
		if (t->places[i])
			*find_place(f, &more, kind, key_of(f, kind, t->places[i])) = t->places[i];
	more.used = t->used;
	free(t->places);
	*t = more;
	return 1;
}

/* ---- nodes, runs, edges ---- */

static int init_nodes(struct tw_flow *f, size_t insns)
{
	f->room_nodes = insns + FIRST_ROOM;
	f->nodes = tw_array_table(f->room_nodes, sizeof *f->nodes);
	f->n_nodes = 1;
	return table_init(&f->node_table, table_places(insns)) && f->nodes;
}

static int init_runs(struct tw_flow *f, size_t insns)
{
	f->room_runs = f->room_edges = insns / INSNS_OF_RUN + FIRST_ROOM;
	f->runs = tw_array_table(f->room_runs, sizeof *f->runs);
	f->edges = tw_array_table(f->room_edges, sizeof *f->edges);
	f->n_runs = f->n_edges = 1;
	int ok = table_init(&f->run_table, table_places(insns / INSNS_OF_RUN));
	return table_init(&f->edge_table, table_places(insns / INSNS_OF_RUN)) && ok && f->runs && f->edges;
}

static void free_runs(struct tw_flow *f)
{
	free(f->runs);
	free(f->edges);
	free(f->run_table.places);
	free(f->edge_table.places);
}

int tw_flow_init(struct tw_flow *f, size_t insns)
{
	memset(f, 0, sizeof *f);
	int ok = init_nodes(f, insns);
	if (!init_runs(f, insns) || !ok)
		return tw_fail(TW_ERR_MEMORY, "profile");
	f->nodes[0].fall = TW_NO_INDEX;
	return 0;
}

void tw_flow_fini(struct tw_flow *f)
{
	free_runs(f);
	free(f->nodes);
	free(f->node_table.places);
	memset(f, 0, sizeof *f);
}

static uint32_t fail(struct tw_flow *f)
{
	f->failed = 1;
	return 0;
}

uint32_t tw_flow_node(struct tw_flow *f, uint32_t image, uint64_t pc, uint8_t length)
{
	struct key k = {pc, (uint64_t)image << 8 | length};
	uint32_t found = *find_place(f, &f->node_table, NODE, k);
	if (found)
		return found;
	struct tw_flow_node *nodes = tw_array_room(f->nodes, f->n_nodes, &f->room_nodes, sizeof *nodes);
	if (!nodes)
		return fail(f);
	f->nodes = nodes;
	if (!table_room(f, &f->node_table, NODE))
		return fail(f);
	f->nodes[f->n_nodes] = (struct tw_flow_node){
	    .pc = pc,
	    .image = image,
	    .length = length,
	    .fall = TW_NO_INDEX,
	    .end = TW_END_UNKNOWN,
	};
	f->node_table.used++;
	return *find_place(f, &f->node_table, NODE, k) = f->n_nodes++;
}

uint32_t tw_flow_node_behind(struct tw_flow *f, uint32_t before, uint32_t image, uint64_t pc, uint8_t length)
{
	const uint32_t fall = f->nodes[before].fall; /* TW_NO_INDEX of node 0 */
	const struct tw_flow_node *n = fall == TW_NO_INDEX ? NULL : &f->nodes[fall];
	return n && n->pc == pc && n->length == length && n->image == image ? fall : tw_flow_node(f, image, pc, length);
}

static uint32_t run_of(struct tw_flow *f, uint32_t first, uint32_t last)
{
	struct tw_flow_node *n = &f->nodes[first];
	if (f->runs[n->run].first == first && f->runs[n->run].last == last)
		return n->run;
	struct key k = {first, last};
	uint32_t found = *find_place(f, &f->run_table, RUN, k);
	if (found)
		return n->run = found;
	struct tw_flow_run *runs = tw_array_room(f->runs, f->n_runs, &f->room_runs, sizeof *runs);
	if (!runs)
		return fail(f);
	f->runs = runs;
	if (!table_room(f, &f->run_table, RUN))
		return fail(f);
	f->runs[f->n_runs] = (struct tw_flow_run){.first = first, .last = last};
	f->run_table.used++;
	n->run = f->n_runs;
	return *find_place(f, &f->run_table, RUN, k) = f->n_runs++;
}

static uint32_t edge_of(struct tw_flow *f, uint32_t run, uint32_t to)
{
	struct key k = {run, to};
	uint32_t found = *find_place(f, &f->edge_table, EDGE, k);
	if (found)
		return found;
	struct tw_flow_edge *edges = tw_array_room(f->edges, f->n_edges, &f->room_edges, sizeof *edges);
	if (!edges)
		return fail(f);
	f->edges = edges;
	if (!table_room(f, &f->edge_table, EDGE))
		return fail(f);
	f->edges[f->n_edges] = (struct tw_flow_edge){.run = run, .to = to};
	f->edge_table.used++;
	return *find_place(f, &f->edge_table, EDGE, k) = f->n_edges++;
}

static void add_edge(struct tw_flow *f, uint32_t first, uint32_t last, uint32_t to, uint64_t count)
{
	uint32_t run = run_of(f, first, last);
	uint32_t edge = run ? edge_of(f, run, to) : 0;
	if (!edge)
		return;
	f->runs[run].recent = f->turned = edge;
	f->edges[edge].count += count;
}

static void add_stop(struct tw_flow *f, uint32_t first, uint32_t last, uint64_t count)
{
	uint32_t run = run_of(f, first, last);
	if (run)
		f->runs[run].stops += count;
}

/* ---- the stream ---- */

/* The current run has ended. `to`: TW_NO_INDEX for the end of the stream. */
static void end_run(struct tw_flow *f, uint32_t to)
{
	if (!f->head.closed)
		f->head = (struct tw_flow_head){f->first, f->last, to, 1};
	else if (to == TW_NO_INDEX)
		add_stop(f, f->first, f->last, 1);
	else
		add_edge(f, f->first, f->last, to, 1);
}

static int is_behind(const struct tw_flow_node *a, const struct tw_flow_node *b)
{
	return b->pc == a->pc + a->length && b->pc > a->pc && a->image == b->image;
}

static inline int is_recent(const struct tw_flow *f, uint32_t to)
{
	const struct tw_flow_run *run = &f->runs[f->nodes[f->first].run];
	return run->last == f->last && f->edges[run->recent].to == to;
}

void tw_flow_turn(struct tw_flow *f, uint32_t first)
{
	struct tw_flow_node *n = &f->nodes[f->last];
	if (f->failed || !f->last) {
		f->streams += f->last == 0;
		f->first = first;
		return;
	}
	if (n->fall == TW_NO_INDEX && is_behind(n, &f->nodes[first])) {
		n->fall = first;
		if (!n->jump)
			return;
	}
	if (n->fall != first)
		n->jump = 1;
	if (is_recent(f, first)) {
		f->turned = f->runs[f->nodes[f->first].run].recent;
		f->edges[f->turned].count++;
	} else {
		end_run(f, first);
	}
	f->first = first;
}

uint32_t tw_flow_open_run(struct tw_flow *f)
{
	return f->last && f->head.closed ? run_of(f, f->first, f->last) : 0;
}

void tw_flow_stop(struct tw_flow *f)
{
	if (f->last)
		end_run(f, TW_NO_INDEX);
	f->last = 0;
}

void tw_flow_repeat(struct tw_flow *f, uint64_t times)
{
	uint32_t node = f->last;
	if (!times)
		return;
	tw_flow_step(f, node, node); /* the run that led here */
	if (times > 1 && !f->failed)
		add_edge(f, node, node, node, times - 1);
}

int tw_flow_chain(struct tw_flow *f, uint32_t node, uint32_t next)
{
	struct tw_flow_node *n = &f->nodes[node];
	if (n->fall == TW_NO_INDEX && is_behind(n, &f->nodes[next]))
		n->fall = next;
	return n->fall == next;
}

/* ---- joining ---- */

/* Executes the nodes of `from` after `at` up to `last`, one by one. */
static void step_on(struct tw_flow *f, const struct tw_flow *from, const uint32_t *map, uint32_t at, uint32_t last)
{
	while (at != last) {
		at = from->nodes[at].fall;
		tw_flow_step(f, map[at], map[at]);
	}
}

/* Sums of the runs of `from`: how often each was begun. NULL: no memory. */
static uint64_t *run_totals(const struct tw_flow *from)
{
	uint64_t *total = tw_array_table(from->n_runs, sizeof *total);
	for (uint32_t i = 1; total && i < from->n_runs; i++)
		total[i] = from->runs[i].stops;
	for (uint32_t i = 1; total && i < from->n_edges; i++)
		total[from->edges[i].run] += from->edges[i].count;
	return total;
}

/* Adds to `f` the parts of a run that end with a jump before its last instruction; returns the start of the rest (in `from`). */
static uint32_t split_run(struct tw_flow *f, const struct tw_flow *from, const uint32_t *map, const struct tw_flow_run *run, uint64_t count)
{
	uint32_t first = run->first;
	for (uint32_t i = first; i != run->last; i = from->nodes[i].fall) {
		uint32_t next = from->nodes[i].fall;
		if (!from->nodes[i].jump)
			continue;
		add_edge(f, map[first], map[i], map[next], count);
		first = next;
	}
	return first;
}

/* Adds the runs of `from`, split at its jumps, to `f`; map[node of from] is the node of f. */
static void add_runs(struct tw_flow *f, const struct tw_flow *from, const uint32_t *map)
{
	uint64_t *total = run_totals(from);
	uint32_t *rest = calloc(from->n_runs, sizeof *rest);
	if (!total || !rest)
		f->failed = 1;
	for (uint32_t i = 1; i < from->n_runs && !f->failed; i++) {
		const struct tw_flow_run *run = &from->runs[i];
		if (!total[i])
			continue; /* it was open, and went on */
		rest[i] = split_run(f, from, map, run, total[i]);
		if (run->stops)
			add_stop(f, map[rest[i]], map[run->last], run->stops);
	}
	for (uint32_t i = 1; i < from->n_edges && !f->failed; i++) {
		const struct tw_flow_edge *e = &from->edges[i];
		add_edge(f, map[rest[e->run]], map[from->runs[e->run].last], map[e->to], e->count);
	}
	free(total);
	free(rest);
}

/* Makes nodes of `f` for those of `later`, and joins what is known of them. NULL: no memory. */
static uint32_t *map_nodes(struct tw_flow *f, const struct tw_flow *later)
{
	uint32_t *map = tw_array_table(later->n_nodes, sizeof *map);
	for (uint32_t i = 1; map && i < later->n_nodes; i++) {
		const struct tw_flow_node *from = &later->nodes[i];
		const uint32_t before = from[-1].fall == i ? map[i - 1] : 0; /* nodes are made in this order */
		map[i] = tw_flow_node_behind(f, before, from->image, from->pc, from->length);
		struct tw_flow_node *to = &f->nodes[map[i]];
		to->reads += from->reads;
		to->writes += from->writes;
		to->jump |= from->jump;
		if (to->end == TW_END_UNKNOWN)
			to->end = from->end;
	}
	return map;
}

/* Joins the successors of nodes. A node with two successors is a jump. */
static void join_chains(struct tw_flow *f, struct tw_flow *later, const uint32_t *map)
{
	for (uint32_t i = 1; i < later->n_nodes; i++) {
		struct tw_flow_node *from = &later->nodes[i], *to = &f->nodes[map[i]];
		if (from->fall != TW_NO_INDEX && to->fall == TW_NO_INDEX)
			to->fall = map[from->fall];
		if (from->fall != TW_NO_INDEX && to->fall != map[from->fall])
			to->jump = 1;
		from->jump |= to->jump;
	}
}

/* Continues the stream of `f` with the first run of `later`, and stops where `later` did. */
static void join_streams(struct tw_flow *f, const struct tw_flow *later, const uint32_t *map)
{
	const struct tw_flow_head *h = &later->head;
	uint32_t first = h->closed ? h->first : later->first;
	f->streams += later->streams - 1;
	tw_flow_step(f, map[first], map[first]);
	step_on(f, later, map, first, h->closed ? h->last : later->last);
	if (!h->closed)
		return;
	if (h->to == TW_NO_INDEX)
		tw_flow_stop(f);
	else
		tw_flow_step(f, map[h->to], map[h->to]);
	f->first = f->last = map[later->last ? later->first : 0];
	if (later->last)
		step_on(f, later, map, later->first, later->last);
}

void tw_flow_merge(struct tw_flow *f, struct tw_flow *later, int continues)
{
	uint32_t *map = later->failed || f->failed ? NULL : map_nodes(f, later);
	if (!map || f->failed) {
		f->failed = 1;
		free(map);
		return;
	}
	join_chains(f, later, map);
	if (!continues)
		tw_flow_stop(f);
	if (later->streams)
		join_streams(f, later, map);
	add_runs(f, later, map);
	free(map);
}

/* ---- settling ---- */

static void close_stream(struct tw_flow *f)
{
	const struct tw_flow_head *h = &f->head;
	tw_flow_stop(f);
	if (h->closed && h->to == TW_NO_INDEX)
		add_stop(f, h->first, h->last, 1);
	else if (h->closed)
		add_edge(f, h->first, h->last, h->to, 1);
	f->head.closed = 0;
}

/* Splits all runs, into new arrays. */
static void split_runs(struct tw_flow *f, const uint32_t *map)
{
	struct tw_flow old = *f;
	if (!init_runs(f, f->n_runs * (size_t)INSNS_OF_RUN)) {
		free_runs(&old);
		f->failed = 1;
		return;
	}
	for (uint32_t i = 1; i < f->n_nodes; i++)
		f->nodes[i].run = 0;
	add_runs(f, &old, map);
	free_runs(&old);
}

int tw_flow_settle(struct tw_flow *f)
{
	uint32_t *map = tw_array_table(f->n_nodes, sizeof *map);
	for (uint32_t i = 1; map && i < f->n_nodes; i++)
		map[i] = i;
	if (!f->failed)
		close_stream(f);
	if (map && !f->failed)
		split_runs(f, map);
	int ok = map && !f->failed;
	free(map);
	return ok ? 0 : tw_fail(TW_ERR_MEMORY, "profile");
}

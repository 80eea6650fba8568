#include "html/calltree.h"
#include "analyzers/flame.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

static uint32_t hash_text(uint32_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

static uint32_t hash_name(const char *name, const char *module)
{
	return hash_text(hash_text(2166136261u, name) * 31, module);
}

static uint32_t hash_pair(uint32_t from, uint32_t to)
{
	uint64_t h = ((uint64_t)from << 32 | to) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(h >> 32);
}

/* ---- functions ---- */

uint32_t tw_calltree_find(const struct tw_calltree *t, const char *name, const char *module)
{
	const struct tw_context_index *x = &t->by_name;
	if (!x->n_slots)
		return NONE;
	for (uint32_t i = hash_name(name, module) & (x->n_slots - 1), n; (n = x->slots[i]); i = (i + 1) & (x->n_slots - 1)) {
		const struct tw_calltree_function *f = &t->functions[n - 1];
		if (!strcmp(f->name, name) && !strcmp(f->module, module))
			return n - 1;
	}
	return NONE;
}

static void put(struct tw_context_index *x, uint32_t hash, uint32_t number)
{
	uint32_t i = hash & (x->n_slots - 1);
	while (x->slots[i])
		i = (i + 1) & (x->n_slots - 1);
	x->slots[i] = number + 1;
}

/* An index for up to n items. */
static int make_index(struct tw_context_index *x, size_t n)
{
	x->n_slots = 16;
	while (x->n_slots < 2 * n)
		x->n_slots *= 2;
	x->slots = calloc(x->n_slots, sizeof *x->slots);
	return x->slots != NULL;
}

static uint32_t function_of(struct tw_calltree *t, const struct tw_context_function *item)
{
	uint32_t i = tw_calltree_find(t, item->name, item->module);
	if (i != NONE)
		return i;
	struct tw_calltree_function *functions = tw_array_zeros(t->functions, t->n_functions, &t->functions_room, sizeof *functions);
	if (!functions)
		return NONE;
	t->functions = functions;
	functions[t->n_functions] = (struct tw_calltree_function){.name = item->name, .module = item->module};
	put(&t->by_name, hash_name(item->name, item->module), (uint32_t)t->n_functions);
	return (uint32_t)t->n_functions++;
}

/* Whether a function is among those that led to an item. */
static int is_active(const struct tw_calltree *t, uint32_t item, uint32_t function)
{
	for (uint32_t i = t->tree.items[item].parent; i; i = t->tree.items[i].parent)
		if (t->function[i] == function)
			return 1;
	return 0;
}

/* ---- pairs ---- */

static struct tw_calltree_edge *edge_of(struct tw_calltree *t, uint32_t from, uint32_t to)
{
	uint32_t hash = hash_pair(from, to);
	struct tw_context_index *x = &t->by_pair;
	for (uint32_t i = hash & (x->n_slots - 1), n; (n = x->slots[i]); i = (i + 1) & (x->n_slots - 1))
		if (t->edges[n - 1].from == from && t->edges[n - 1].to == to)
			return &t->edges[n - 1];
	struct tw_calltree_edge *edges = tw_array_room(t->edges, t->n_edges, &t->edges_room, sizeof *edges);
	if (!edges)
		return NULL;
	t->edges = edges;
	edges[t->n_edges] = (struct tw_calltree_edge){.from = from, .to = to};
	put(x, hash, (uint32_t)t->n_edges);
	return &edges[t->n_edges++];
}

static int take_item(struct tw_calltree *t, uint32_t i)
{
	const struct tw_context_function *item = &t->tree.items[i];
	uint32_t n = function_of(t, item);
	if (n == NONE)
		return 0;
	t->function[i] = n;
	struct tw_calltree_edge *e = edge_of(t, t->function[item->parent], n);
	if (!e)
		return 0;
	int again = is_active(t, i, n);
	struct tw_calltree_function *f = &t->functions[n];
	f->calls += item->calls;
	f->own.insns += item->own.insns;
	f->own.refs += item->own.refs;
	f->all.insns += again ? 0 : item->all.insns;
	f->all.refs += again ? 0 : item->all.refs;
	e->calls += item->calls;
	e->insns += again ? 0 : item->all.insns;
	return 1;
}

static int most_first(const void *a, const void *b)
{
	const struct tw_calltree_edge *x = a, *y = b;
	if (x->insns != y->insns)
		return x->insns > y->insns ? -1 : 1;
	return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

/* ---- order ---- */

/*
 * Parents before children, siblings by cost and name: so the page does not depend on which worker's part came first.
 * The tree's index is invalid afterwards.
 */
static int order_items(struct tw_context_tree *t)
{
	uint32_t *first, *next, *was = calloc(t->n + 1, sizeof *was); /* its number before */
	struct tw_context_function *to = calloc(t->n + 1, sizeof *to);
	const int whole = !tw_flame_children(t, &first, &next) && was && to;
	if (whole) {
		size_t n = 1;
		to[0] = t->items[0];
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = first[was[i]]; k; k = next[k]) {
				to[n] = t->items[k];
				to[n].parent = i;
				was[n++] = k;
			}
		memcpy(t->items, to, n * sizeof *to);
	}
	free(first);
	free(next);
	free(was);
	free(to);
	return whole;
}

int tw_calltree_summarize(struct tw_calltree *t)
{
	size_t n = t->tree.n;
	t->function = calloc(n + 1, sizeof *t->function);
	if (!t->function || !make_index(&t->by_name, n) || !make_index(&t->by_pair, n) || !order_items(&t->tree))
		return TW_ERR_MEMORY;
	t->function[0] = NONE;
	for (uint32_t i = 1; i < n; i++)
		if (!take_item(t, i))
			return TW_ERR_MEMORY;
	if (t->n_edges)
		qsort(t->edges, t->n_edges, sizeof *t->edges, most_first);
	return 0;
}

void tw_calltree_free(struct tw_calltree *t)
{
	tw_context_tree_free(&t->tree);
	free(t->function);
	free(t->functions);
	free(t->edges);
	free(t->by_name.slots);
	free(t->by_pair.slots);
}

/* ---- what is drawn ---- */

/* What an item becomes. */
enum { LEFT_OUT = UINT32_MAX };

/* The least cost that at most about `most` items have. */
static uint64_t least_of(const struct tw_calltree *t, size_t most)
{
	uint64_t least = 1;
	for (size_t n = SIZE_MAX; n > most; least *= 2) {
		n = 0;
		for (size_t i = 1; i < t->tree.n; i++)
			n += t->tree.items[i].all.insns >= least;
		if (n <= most)
			break;
	}
	return least;
}

/* A drawn item of the tree: one of the whole tree, or all small children of one combined. */
struct drawn {
	uint32_t parent, function;
	struct tw_context_cost own;
	uint64_t calls;
};

struct drawing {
	struct drawn *items;
	uint32_t *of;     /* for each item of the tree: its place; LEFT_OUT */
	uint32_t *others; /* for each drawn item: the item that combines its small children; 0: none */
	size_t n;
	uint32_t *number; /* for each function: the number of its name, plus 1; 0: none */
	uint32_t *named;  /* for each number: the function */
	size_t n_names, bytes;
};

/* The bytes that a function's name would add; 0: it is present. */
static size_t more_bytes(const struct tw_calltree *t, const struct drawing *d, uint32_t function)
{
	if (function == NONE || d->number[function])
		return 0;
	return strlen(t->functions[function].name) + strlen(t->functions[function].module);
}

/* The number of a function's name, which is added if necessary. */
static uint32_t name_of(const struct tw_calltree *t, struct drawing *d, uint32_t function)
{
	if (!d->number[function]) {
		d->bytes += more_bytes(t, d, function);
		d->named[d->n_names] = function;
		d->number[function] = (uint32_t)++d->n_names;
	}
	return d->number[function] - 1;
}

/* The drawn item that stands for the small children of another. */
static struct drawn *others_of(struct drawing *d, uint32_t parent)
{
	if (!d->others[parent]) {
		d->others[parent] = (uint32_t)d->n;
		d->items[d->n++] = (struct drawn){.parent = parent, .function = NONE};
	}
	return &d->items[d->others[parent]];
}

/* Draws the tree. Items that are too small become LEFT_OUT; returns how many. All items below a small one are small. */
static size_t draw(const struct tw_calltree *t, struct drawing *d, uint64_t least)
{
	size_t left_out = 0;
	d->n = 1;
	d->items[0].function = NONE;
	for (uint32_t i = 1; i < t->tree.n; i++) {
		const struct tw_context_function *item = &t->tree.items[i];
		if (item->all.insns >= least) {
			d->of[i] = (uint32_t)d->n;
			d->items[d->n++] = (struct drawn){d->of[item->parent], t->function[i], item->own, item->calls};
			continue;
		}
		left_out++;
		d->of[i] = LEFT_OUT;
		if (d->of[item->parent] == LEFT_OUT)
			continue; /* its costs are part of those of its parent */
		struct drawn *others = others_of(d, d->of[item->parent]);
		others->own.insns += item->all.insns;
		others->own.refs += item->all.refs;
		others->calls += item->calls;
	}
	return left_out;
}

static void forget(const struct tw_calltree *t, struct drawing *d)
{
	size_t room = 2 * t->tree.n + 2;
	memset(d->items, 0, room * sizeof *d->items);
	memset(d->of, 0, room * sizeof *d->of);
	memset(d->others, 0, room * sizeof *d->others);
	memset(d->number, 0, (t->n_functions + 1) * sizeof *d->number);
	d->n_names = d->bytes = 0;
}

/* Draws as many items as requested, and as fit with their names. Returns how many are left out. */
static size_t draw_most(const struct tw_calltree *t, struct drawing *d, size_t most)
{
	enum { FEWEST = 64 };
	for (;; most /= 2) {
		size_t left_out = draw(t, d, least_of(t, most));
		for (size_t i = 0; i < d->n; i++)
			if (d->items[i].function != NONE)
				d->items[i].function = name_of(t, d, d->items[i].function);
		if (d->bytes <= TW_CALLTREE_NAMES || most < FEWEST)
			return left_out;
		forget(t, d);
	}
}

static void put_drawing(const struct drawing *d, struct tw_compact *c)
{
	static const char *const keys[] = {"parent", "name", "insns", "refs", "calls"};
	tw_compact_open(c, "tree", '{');
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
		tw_compact_open(c, keys[k], '[');
		for (size_t i = 0; i < d->n; i++) {
			const struct drawn *x = &d->items[i];
			const uint64_t values[] = {x->parent, 0, x->own.insns, x->own.refs, x->calls};
			if (k == 1)
				tw_compact_real(c, NULL, x->function == NONE ? -1 : (double)x->function);
			else
				tw_compact_number(c, NULL, values[k]);
		}
		tw_compact_close(c, ']');
	}
	tw_compact_close(c, '}');
}

static void put_edges(const struct tw_calltree *t, struct drawing *d, struct tw_compact *c)
{
	const size_t most = d->bytes + TW_CALLTREE_NAMES / 2;
	tw_compact_open(c, "edges", '[');
	for (size_t i = 0; i < t->n_edges && i < TW_CALLTREE_EDGES; i++) {
		const struct tw_calltree_edge *e = &t->edges[i];
		if (d->bytes + more_bytes(t, d, e->from) + more_bytes(t, d, e->to) > most)
			break;
		tw_compact_open(c, NULL, '[');
		tw_compact_real(c, NULL, e->from == NONE ? -1 : (double)name_of(t, d, e->from));
		tw_compact_number(c, NULL, name_of(t, d, e->to));
		tw_compact_number(c, NULL, e->calls);
		tw_compact_number(c, NULL, e->insns);
		tw_compact_close(c, ']');
	}
	tw_compact_close(c, ']');
}

static void put_names(const struct tw_calltree *t, const struct drawing *d, struct tw_compact *c)
{
	tw_compact_open(c, "tree_names", '[');
	for (size_t i = 0; i < d->n_names; i++) {
		tw_compact_open(c, NULL, '[');
		tw_compact_text(c, NULL, t->functions[d->named[i]].name);
		tw_compact_text(c, NULL, t->functions[d->named[i]].module);
		tw_compact_close(c, ']');
	}
	tw_compact_close(c, ']');
}

size_t tw_calltree_json(const struct tw_calltree *t, struct tw_compact *c, size_t most)
{
	size_t room = 2 * t->tree.n + 2, left_out = 0;
	struct drawing d = {
	    .items = calloc(room, sizeof *d.items),
	    .of = calloc(room, sizeof *d.of),
	    .others = calloc(room, sizeof *d.others),
	    .number = calloc(t->n_functions + 1, sizeof *d.number),
	    .named = calloc(t->n_functions + 1, sizeof *d.named),
	};
	if (d.items && d.of && d.others && d.number && d.named) {
		left_out = draw_most(t, &d, most);
		put_drawing(&d, c);
		put_edges(t, &d, c);
		put_names(t, &d, c);
	}
	free(d.items);
	free(d.of);
	free(d.others);
	free(d.number);
	free(d.named);
	return left_out;
}

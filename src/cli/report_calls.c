/* The tables of trackway report that say who calls whom. */
#include "analyzers/cct.h"
#include "analyzers/flame.h"
#include "analyzers/table.h"
#include "base/array.h"
#include "cli/report_state.h"
#include "names/names.h"
#include "plugin/context.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/* ---- callers and callees ---- */

/* Calls between two functions, of all places and levels. */
struct pair {
	uint32_t other;
	uint64_t calls;
	struct tw_cost cost;
};

static int by_cost(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	if (x->cost.insns != y->cost.insns)
		return x->cost.insns > y->cost.insns ? -1 : 1;
	return (x->other > y->other) - (x->other < y->other);
}

static int is_of(const struct report *r, uint32_t function)
{
	return tw_name_is(r->costs.functions[function].name, r->of);
}

int report_pairs(struct report *r)
{
	static const struct tw_row_column columns[] = {
	    {NULL, "share", TW_ROW_SHARE, 0},   {"instructions", "insns", TW_ROW_COUNT, 0},
	    {"refs", "refs", TW_ROW_COUNT, 0},  {"calls", "calls", TW_ROW_COUNT, 0},
	    {"function", NULL, TW_ROW_TEXT, 0}, {"module", NULL, TW_ROW_TEXT, 0},
	    {NULL, "function", TW_ROW_TEXT, 0}, {NULL, NULL, 0, 0},
	};
	int callers = r->table == REPORT_CALLERS;
	char title[256];
	struct pair *pairs = calloc(r->costs.n_functions + 1, sizeof *pairs);
	if (!pairs)
		return TW_ERR_MEMORY;
	for (uint32_t i = 0; i < r->costs.n_functions; i++)
		pairs[i].other = i;
	for (size_t i = 0; i < r->costs.calls.n_calls; i++) {
		const struct tw_call *c = &r->costs.calls.calls[i];
		uint32_t other = callers ? c->in.function : c->to.function;
		if (!is_of(r, callers ? c->to.function : c->in.function))
			continue;
		pairs[other].calls += c->calls;
		tw_cost_add(&pairs[other].cost, &c->cost);
	}
	qsort(pairs, r->costs.n_functions, sizeof *pairs, by_cost);
	snprintf(title, sizeof title,
	         callers ? "Callers of %.200s: what their calls of it cost" : "Callees of %.200s: what its calls of them cost", r->of);
	tw_rows_begin(&r->rows, callers ? "callers" : "callees", title, columns);
	for (size_t i = 0; i < r->costs.n_functions; i++) {
		const struct tw_cost_function *f = &r->costs.functions[pairs[i].other];
		if (!pairs[i].calls)
			continue;
		char *place = report_place_of(f->name, f->module, f->file, f->line);
		tw_rows_add(&r->rows, (union tw_row_cell[]){{{pairs[i].cost.insns, r->costs.totals.insns}},
		                                            {{pairs[i].cost.insns, 0}},
		                                            {{pairs[i].cost.refs, 0}},
		                                            {{pairs[i].calls, 0}},
		                                            {.text = f->name},
		                                            {.text = f->module},
		                                            {.text = place ? place : f->name}});
		free(place);
	}
	tw_rows_end(&r->rows);
	free(pairs);
	return 0;
}

/* ---- the tree of calls ---- */

/* The tree as shown: depth first, most expensive siblings first. */
struct tree {
	struct report *r;
	const struct tw_context_tree *calls;
	uint32_t *first, *next; /* of each item: its first child, its next sibling; 0: none */
	uint32_t *depth;        /* of each shown item, + 1; 0: not in the requested part */
	uint8_t *chosen;        /* of each item: it is among the top ones */
};

static const struct tw_context_tree *ordering;

/* The most expensive first; one that calls comes before those it calls. */
static int by_inclusive(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t m = ordering->items[x].all.insns, n = ordering->items[y].all.insns;
	if (m != n)
		return m > n ? -1 : 1;
	return (x > y) - (x < y);
}

/* Which items are in the requested part, and their depths: all, or those of a function or file with everything below. */
static void find_depths(struct tree *t)
{
	const struct tw_context_function *f = t->calls->items;
	for (uint32_t i = 1; i < t->calls->n; i++) {
		uint32_t above = t->depth[f[i].parent];
		t->depth[i] = above ? above + 1 : (uint32_t)report_is_shown(t->r, f[i].name, f[i].module);
	}
}

/* With -n, chooses the most expensive ones, so that each is below its caller. */
static int choose(struct tree *t)
{
	uint32_t *order = calloc(t->calls->n + 1, sizeof *order);
	size_t n = 0;
	if (!order)
		return TW_ERR_MEMORY;
	for (uint32_t i = 1; i < t->calls->n; i++)
		if (t->depth[i])
			order[n++] = i;
	ordering = t->calls;
	qsort(order, n, sizeof *order, by_inclusive);
	for (size_t i = 0; i < n && (i < t->r->rows.top || !t->r->rows.top); i++)
		t->chosen[order[i]] = 1;
	free(order);
	return 0;
}

static int add_row(struct tree *t, uint32_t i)
{
	enum { DEEPEST = 60 }; /* of the indentation */
	const struct tw_context_function *f = &t->calls->items[i];
	const unsigned depth = t->depth[i] - 1;
	char *place = report_place_of(f->name, f->module, NULL, 0), *shown = NULL;
	if (!place || asprintf(&shown, "%*s%s", (int)(depth < DEEPEST ? depth : DEEPEST) * 2, "", place) < 0)
		shown = NULL;
	if (shown)
		tw_rows_add(&t->r->rows, (union tw_row_cell[]){{{depth, 0}},
		                                               {{f->all.insns, t->calls->items->all.insns}},
		                                               {{f->all.insns, 0}},
		                                               {{f->own.insns, t->calls->items->all.insns}},
		                                               {{f->own.insns, 0}},
		                                               {{f->all.refs, 0}},
		                                               {{f->own.refs, 0}},
		                                               {{f->calls, 0}},
		                                               {.text = f->name},
		                                               {.text = f->module},
		                                               {.text = shown}});
	int error = shown ? 0 : TW_ERR_MEMORY;
	free(place);
	free(shown);
	return error;
}

static int add_rows(struct tree *t)
{
	uint64_t left_out = 0;
	int error = 0;
	for (uint32_t i = t->first[0]; i && !error;) {
		if (t->chosen[i])
			error = add_row(t, i);
		else
			left_out += t->depth[i] != 0;
		if (t->first[i]) {
			i = t->first[i];
			continue;
		}
		while (i && !t->next[i])
			i = t->calls->items[i].parent;
		i = t->next[i];
	}
	t->r->rows.n += left_out;
	return error;
}

static int print_tree(struct tree *t)
{
	static const struct tw_row_column columns[] = {
	    {"depth", NULL, TW_ROW_COUNT, 0}, {NULL, "incl.", TW_ROW_SHARE, 0},        {"inclusive_instructions", "insns", TW_ROW_COUNT, 0},
	    {NULL, "self", TW_ROW_SHARE, 0},  {"instructions", NULL, TW_ROW_COUNT, 0}, {"inclusive_refs", NULL, TW_ROW_COUNT, 0},
	    {"refs", NULL, TW_ROW_COUNT, 0},  {"calls", "calls", TW_ROW_COUNT, 0},     {"function", NULL, TW_ROW_TEXT, 0},
	    {"module", NULL, TW_ROW_TEXT, 0}, {NULL, "function", TW_ROW_TEXT, 0},      {NULL, NULL, 0, 0},
	};
	t->depth = calloc(t->calls->n + 1, sizeof *t->depth);
	t->chosen = calloc(t->calls->n + 1, sizeof *t->chosen);
	int error = t->depth && t->chosen ? tw_flame_children(t->calls, &t->first, &t->next) : TW_ERR_MEMORY;
	if (error)
		return error;
	find_depths(t);
	error = choose(t);
	if (error)
		return error;
	tw_rows_begin(&t->r->rows, "tree",
	              "Calls: each function below the one that called it, with all that it called (incl.) and by itself (self)", columns);
	error = add_rows(t);
	tw_rows_end(&t->r->rows);
	return error;
}

/* Where damage is told: the replay of the totals has told it. */
static int pass_over(void *context, size_t thread, size_t chunk, int error)
{
	(void)context, (void)thread, (void)chunk, (void)error;
	return 0;
}

/* Has the tree made, unless it has been made for another form. */
static int find_tree(struct report *r)
{
	struct tw_request request = {0};
	struct tw_context *context = NULL;
	const struct tw_replay_options replay = {.jobs = (unsigned)r->jobs, .damage = pass_over};
	if (r->calls.n)
		return 0;
	int error = tw_request_init(&request, &tw_analyzer_cct, "cct") ? 0 : TW_ERR_MEMORY;
	if (!error && !(context = tw_context_new(&request, r->recording, NULL)))
		error = TW_ERR_MEMORY;
	if (!error)
		error = tw_cct_run(context, &replay, r->names, tw_part_replay, &r->part, &r->calls);
	tw_context_free(context);
	tw_request_free(&request);
	return error;
}

int report_tree(struct report *r)
{
	struct tree t = {.r = r, .calls = &r->calls};
	int error = find_tree(r);
	if (!error)
		error = print_tree(&t);
	free(t.first);
	free(t.next);
	free(t.depth);
	free(t.chosen);
	return error;
}

#include "learn/tables.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a module that are known, as ranges without overlap. */
struct range {
	uint32_t module;
	uint64_t from, to;
};

struct ranges {
	struct range *of;
	size_t n;
};

static int by_place(const void *a, const void *b)
{
	const struct range *x = a, *y = b;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int take_ranges(const struct tw_facts *f, struct ranges *r)
{
	size_t n = 0;
	r->of = malloc((f->n + 1) * sizeof *r->of);
	if (!r->of)
		return tw_fail(TW_ERR_MEMORY, "ranges");
	for (size_t i = 0; i < f->n; i++)
		if (f->facts[i].kind == TW_FACT_BLOCK)
			r->of[n++] = (struct range){f->facts[i].module, f->facts[i].from, f->facts[i].to};
	qsort(r->of, n, sizeof *r->of, by_place);
	for (size_t i = 0; i < n; i++) {
		struct range *last = r->n ? &r->of[r->n - 1] : NULL;
		if (last && last->module == r->of[i].module && r->of[i].from <= last->to)
			last->to = r->of[i].to > last->to ? r->of[i].to : last->to;
		else
			r->of[r->n++] = r->of[i];
	}
	return TW_OK;
}

static int holds(const struct ranges *r, uint32_t module, uint64_t from, uint64_t to)
{
	const struct range key = {module, from, to};
	const size_t at = tw_array_until(&key, r->of, r->n, sizeof *r->of, by_place);
	return at && r->of[at - 1].module == module && from >= r->of[at - 1].from && to <= r->of[at - 1].to;
}

/* ---- known ---- */

/* The other set, in this one's numbers; modules that it does not have are 0. */
struct other {
	const struct tw_facts *known;
	uint32_t *module, *fact; /* numbers of this set's facts in the other; 0: not there */
	struct ranges ranges;
};

static uint32_t same_module(const struct tw_facts *f, const char *id, const char *path)
{
	for (size_t i = 0; i < f->n_modules; i++)
		if (!strcmp(tw_facts_build_id(f, (uint32_t)i), id) && !strcmp(tw_facts_path(f, (uint32_t)i), path))
			return (uint32_t)i;
	return TW_NO_NUMBER;
}

/* Facts stand behind those that they go on from. */
static uint32_t find_there(const struct other *o, const struct tw_fact *fact)
{
	struct tw_fact there = *fact;
	there.module = o->module[fact->module];
	there.to_module = o->module[fact->to_module];
	there.parent = o->fact[fact->parent];
	if (there.module == TW_NO_NUMBER || there.to_module == TW_NO_NUMBER || (fact->parent && !there.parent))
		return 0;
	if (fact->kind == TW_FACT_BLOCK)
		return (uint32_t)holds(&o->ranges, there.module, there.from, there.to);
	return tw_facts_find(o->known, &there);
}

static int begin_other(struct other *o, const struct tw_facts *whole, const struct tw_facts *known)
{
	*o = (struct other){.known = known};
	if (!known)
		return TW_OK;
	o->module = malloc((whole->n_modules + 1) * sizeof *o->module);
	o->fact = calloc(whole->n + 1, sizeof *o->fact);
	if (!o->module || !o->fact)
		return tw_fail(TW_ERR_MEMORY, "modules");
	for (size_t i = 0; i < whole->n_modules; i++)
		o->module[i] = same_module(known, tw_facts_build_id(whole, (uint32_t)i), tw_facts_path(whole, (uint32_t)i));
	const int error = take_ranges(known, &o->ranges);
	for (size_t i = 0; i < whole->n && !error; i++)
		o->fact[i + 1] = find_there(o, &whole->facts[i]);
	return error;
}

/* ---- rows ---- */

/* A fact's row, while rows are sorted by this. */
struct item {
	const struct tw_fact *fact;
	const char *path, *function, *build_id;
};

static int by_name(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	const int paths = strcmp(x->path, y->path), functions = strcmp(x->function, y->function);
	return paths ? paths : functions ? functions : strcmp(x->build_id, y->build_id);
}

static uint64_t missing(const struct tw_learn_row *r)
{
	uint64_t n = 0;
	for (unsigned k = 0; k < TW_FACT_KINDS; k++)
		n += r->n[k] - r->known[k];
	return n;
}

static int by_missing(const void *a, const void *b)
{
	const struct tw_learn_row *x = a, *y = b;
	const uint64_t m = missing(x), n = missing(y);
	if (m != n)
		return m < n ? 1 : -1;
	const int paths = strcmp(x->path, y->path), functions = strcmp(x->function ? x->function : "", y->function ? y->function : "");
	return paths ? paths : functions ? functions : strcmp(x->build_id, y->build_id);
}

static uint64_t bytes_of(const struct ranges *r, const struct tw_fact *fact)
{
	/* The range that begins with this block is counted with it, so that each byte is counted once. */
	const struct range key = {fact->module, fact->from, fact->to};
	const size_t at = tw_array_before(&key, r->of, r->n, sizeof *r->of, by_place);
	return at < r->n && r->of[at].module == fact->module && r->of[at].from == fact->from ? r->of[at].to - r->of[at].from : 0;
}

static void fill(struct tw_learn_rows *rows, const struct item *items, size_t n, const struct tw_facts *whole, const struct other *o,
                 const struct ranges *own)
{
	for (size_t i = 0; i < n; i++) {
		if (!i || by_name(&items[i - 1], &items[i]))
			rows->rows[rows->n++] =
			    (struct tw_learn_row){.path = items[i].path,
			                          .function = *items[i].function ? items[i].function : NULL,
			                          .build_id = items[i].build_id,
			                          .is_one_of_several = tw_facts_has_build(whole, items[i].fact->module, 0)};
		struct tw_learn_row *row = &rows->rows[rows->n - 1];
		row->n[items[i].fact->kind]++;
		row->known[items[i].fact->kind] += o->known && o->fact[items[i].fact - whole->facts + 1];
		row->bytes += items[i].fact->kind == TW_FACT_BLOCK ? bytes_of(own, items[i].fact) : 0;
	}
}

int tw_learn_rows(const struct tw_facts *whole, const struct tw_facts *known, int by_function, struct tw_learn_rows *rows)
{
	struct ranges own = {0};
	struct other o = {0};
	struct item *items = malloc((whole->n + 1) * sizeof *items);
	*rows = (struct tw_learn_rows){.rows = malloc((whole->n + 1) * sizeof *rows->rows)};
	int error = items && rows->rows ? begin_other(&o, whole, known) : tw_fail(TW_ERR_MEMORY, "rows");
	if (!error)
		error = take_ranges(whole, &own);
	for (size_t i = 0; i < whole->n && !error; i++)
		items[i] = (struct item){&whole->facts[i], tw_facts_path(whole, whole->facts[i].module),
		                         by_function ? whole->texts.items[whole->facts[i].function] : "",
		                         tw_facts_build_id(whole, whole->facts[i].module)};
	if (!error) {
		qsort(items, whole->n, sizeof *items, by_name);
		fill(rows, items, whole->n, whole, &o, &own);
	}
	if (!error && known)
		qsort(rows->rows, rows->n, sizeof *rows->rows, by_missing);
	free(items);
	free(own.of);
	free(o.ranges.of);
	free(o.module);
	free(o.fact);
	return error;
}

struct tw_learn_row tw_learn_sum(const struct tw_learn_rows *rows)
{
	struct tw_learn_row sum = {0};
	for (size_t i = 0; i < rows->n; i++) {
		for (unsigned k = 0; k < TW_FACT_KINDS; k++) {
			sum.n[k] += rows->rows[i].n[k];
			sum.known[k] += rows->rows[i].known[k];
		}
		sum.bytes += rows->rows[i].bytes;
	}
	return sum;
}

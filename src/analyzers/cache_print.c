/* cache: the answer. */
#include "analyzers/by_place.h"
#include "analyzers/cache_state.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)TW_CACHE_COUNTS <= (int)TW_PLACE_COUNTS, "there is room for all counts");

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

static void print_levels(struct tw_answer *a, const struct tw_cache_state *s)
{
	static const struct tw_column columns[] = {{"level", TW_COLUMN_COUNT},        {"bytes", TW_COLUMN_COUNT},
	                                           {"ways", TW_COLUMN_COUNT},         {"read_misses", TW_COLUMN_COUNT},
	                                           {"write_misses", TW_COLUMN_COUNT}, {"of_reads", TW_COLUMN_SHARE},
	                                           {"of_writes", TW_COLUMN_SHARE},    {NULL, 0}};
	const struct tw_cache_totals *t = &s->totals;
	tw_answer_table(a, "levels", "Misses", columns);
	for (unsigned i = 0; i < s->caches.n_levels; i++) {
		const struct tw_cache_shape *shape = &s->setup.caches.level[i];
		tw_answer_row(a, (struct tw_cell[]){{.count = i + 1},
		                                    {.count = (uint64_t)shape->sets * shape->ways << s->setup.line_bits},
		                                    {.count = shape->ways},
		                                    {.count = t->read_misses[i]},
		                                    {.count = t->write_misses[i]},
		                                    {.real = share(t->read_misses[i], t->reads)},
		                                    {.real = share(t->write_misses[i], t->writes)}});
	}
}

static void print_code(struct tw_answer *a, const struct tw_cache_state *s)
{
	static const struct tw_column columns[] = {
	    {"level", TW_COLUMN_COUNT}, {"fetch_misses", TW_COLUMN_COUNT}, {"of_fetches", TW_COLUMN_SHARE}, {NULL, 0}};
	if (!s->code)
		return;
	tw_answer_fact(a, "fetches", s->totals.fetches);
	tw_answer_table(a, "code", "Misses of code", columns);
	for (unsigned i = 0; i < s->caches.n_levels; i++)
		tw_answer_row(a, (struct tw_cell[]){{.count = i + 1},
		                                    {.count = s->totals.fetch_misses[i]},
		                                    {.real = share(s->totals.fetch_misses[i], s->totals.fetches)}});
}

static void print_facts(struct tw_answer *a, const struct tw_cache_state *s)
{
	tw_answer_fact(a, "reads", s->totals.reads);
	tw_answer_fact(a, "writes", s->totals.writes);
	tw_answer_fact(a, "line_bytes", 1u << s->setup.line_bits);
	tw_answer_fact(a, "invalidations", s->caches.invalidations);
	tw_answer_fact(a, "coherence_misses", s->totals.taken);
}

static void print_lines(struct tw_answer *a, const struct tw_cache_state *s, const struct tw_by_place *p)
{
	static const struct tw_column columns[] = {{"references", TW_COLUMN_COUNT},  {"l1_misses", TW_COLUMN_COUNT},
	                                           {"last_misses", TW_COLUMN_COUNT}, {"coherence", TW_COLUMN_COUNT},
	                                           {"line", TW_COLUMN_TEXT},         {NULL, 0}};
	char line[400];
	tw_answer_table(a, "lines", "Lines that miss most", columns);
	for (size_t i = 0; i < p->n; i++) {
		const uint64_t *count = p->items[i].count;
		tw_place_text(&p->items[i], line, sizeof line);
		tw_answer_row(a, (struct tw_cell[]){{.count = count[TW_CACHE_REFS]},
		                                    {.count = count[TW_CACHE_MISS]},
		                                    {.count = count[tw_cache_last_miss(s)]},
		                                    {.count = count[TW_CACHE_TAKEN]},
		                                    {.text = line}});
	}
}

static void print_functions(struct tw_answer *a, const struct tw_cache_state *s, const struct tw_by_place *p)
{
	static const struct tw_column columns[] = {{"references", TW_COLUMN_COUNT},
	                                           {"l1_misses", TW_COLUMN_COUNT},
	                                           {"last_misses", TW_COLUMN_COUNT},
	                                           {"coherence", TW_COLUMN_COUNT},
	                                           {"function", TW_COLUMN_TEXT},
	                                           {"module", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	tw_answer_table(a, "functions", "Functions that miss most", columns);
	for (size_t i = 0; i < p->n; i++) {
		const uint64_t *count = p->items[i].count;
		tw_answer_row(a, (struct tw_cell[]){{.count = count[TW_CACHE_REFS]},
		                                    {.count = count[TW_CACHE_MISS]},
		                                    {.count = count[tw_cache_last_miss(s)]},
		                                    {.count = count[TW_CACHE_TAKEN]},
		                                    {.text = p->items[i].function},
		                                    {.text = p->items[i].module}});
	}
}

static void print_code_functions(struct tw_answer *a, struct tw_by_place *p)
{
	static const struct tw_column columns[] = {{"fetches", TW_COLUMN_COUNT},     {"l1_misses", TW_COLUMN_COUNT},
	                                           {"last_misses", TW_COLUMN_COUNT}, {"function", TW_COLUMN_TEXT},
	                                           {"module", TW_COLUMN_TEXT},       {NULL, 0}};
	tw_by_place_functions(p, TW_CACHE_FETCH_MISS);
	tw_answer_table(a, "code_functions", "Functions whose code misses most", columns);
	for (size_t i = 0; i < p->n; i++) {
		const uint64_t *count = p->items[i].count;
		tw_answer_row(a, (struct tw_cell[]){{.count = count[TW_CACHE_FETCH]},
		                                    {.count = count[TW_CACHE_FETCH_MISS]},
		                                    {.count = count[TW_CACHE_FETCH_MISS_LAST]},
		                                    {.text = p->items[i].function},
		                                    {.text = p->items[i].module}});
	}
}

static int add_fragment(void *context, void *item)
{
	static const uint64_t nothing[TW_CACHE_COUNTS];
	const struct tw_cache_fragment *f = item;
	const struct tw_descriptor *d = f->descriptor;
	const uint8_t *bytes = tw_descriptor_insn_bytes(d);
	int error = 0;
	for (unsigned k = 0; k < d->n_blocks; k++) {
		const struct tw_block *b = &tw_descriptor_blocks(d)[k];
		uint64_t pc = b->pc;
		for (unsigned i = b->first_insn; i < (unsigned)b->first_insn + b->n_insns && !error; pc += bytes[i++]) {
			uint64_t count[TW_PLACE_COUNTS] = {0};
			memcpy(count, f->count[i], sizeof f->count[i]);
			if (memcmp(f->count[i], nothing, sizeof nothing))
				error = tw_by_place_add(context, f->thread, pc, count);
		}
	}
	return error;
}

static int print_code_places(struct tw_answer *a, struct tw_cache_state *s)
{
	struct tw_by_place places = {.context = s->context};
	int error = tw_by_fragment_each(&s->fragments, add_fragment, &places);
	if (!error) {
		tw_by_place_lines(&places, TW_CACHE_MISS);
		print_lines(a, s, &places);
		tw_by_place_functions(&places, TW_CACHE_MISS);
		print_functions(a, s, &places);
		if (s->code)
			print_code_functions(a, &places);
	}
	tw_by_place_free(&places);
	return error;
}

static int print_objects(struct tw_answer *a, struct tw_cache_state *s)
{
	static const struct tw_column columns[] = {{"l1_misses", TW_COLUMN_COUNT}, {"last_misses", TW_COLUMN_COUNT},
	                                           {"coherence", TW_COLUMN_COUNT}, {"object", TW_COLUMN_TEXT},
	                                           {"module", TW_COLUMN_TEXT},     {NULL, 0}};
	struct tw_object *list = NULL;
	size_t n = 0;
	int error = tw_objects_list(&s->objects, TW_CACHE_MISS, &list, &n);
	tw_answer_table(a, "objects", "Data with the most misses", columns);
	for (size_t i = 0; i < n && !error; i++)
		tw_answer_row(a, (struct tw_cell[]){{.count = list[i].count[TW_CACHE_MISS]},
		                                    {.count = list[i].count[tw_cache_last_miss(s)]},
		                                    {.count = list[i].count[TW_CACHE_TAKEN]},
		                                    {.text = *list[i].name ? list[i].name : "(no symbol)"},
		                                    {.text = list[i].module}});
	free(list);
	return error;
}

static void print_reuse(struct tw_answer *a, const struct tw_cache_state *s)
{
	static const struct tw_column columns[] = {{"accesses", TW_COLUMN_COUNT},
	                                           {"up_to_here", TW_COLUMN_SHARE},
	                                           {"error", TW_COLUMN_SHARE},
	                                           {"distance", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	char text[64];
	if (!s->reuse.sample)
		return;
	tw_answer_table(a, "reuse", "Reuse distances, in lines", columns);
	for (unsigned b = 0; b < TW_REUSE_BUCKETS; b++) {
		double error, up_to_here = tw_reuse_share(&s->reuse, b, &error);
		uint64_t n = tw_reuse_count(&s->reuse, b);
		if (b == TW_REUSE_FIRST)
			snprintf(text, sizeof text, "first access");
		else
			snprintf(text, sizeof text, "%llu", b ? 1ull << (b - 1) : 0ull);
		if (n)
			tw_answer_row(a, (struct tw_cell[]){{.count = n}, {.real = up_to_here}, {.real = error}, {.text = text}});
	}
}

int tw_cache_print(struct tw_cache_state *s)
{
	struct tw_answer *a = tw_context_answer(s->context);
	print_facts(a, s);
	print_levels(a, s);
	print_code(a, s);
	print_reuse(a, s);
	int error = print_code_places(a, s);
	return error ? error : print_objects(a, s);
}

#include "analyzers/by_function.h"
#include "base/array.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>

struct tw_by_function_item {
	const char *module, *function; /* as the names have them */
	struct tw_function_counts counts;
};

void tw_function_counts_add(struct tw_function_counts *to, const struct tw_function_counts *more)
{
	to->calls += more->calls;
	to->insns += more->insns;
	to->reads += more->reads;
	to->writes += more->writes;
}

int tw_by_function_add(struct tw_by_function *f, uint32_t thread, uint64_t pc, const struct tw_function_counts *counts)
{
	struct tw_names *names = tw_context_names(f->context);
	struct tw_by_function_item *items = names ? tw_array_room(f->items, f->n, &f->room, sizeof *items) : NULL;
	struct tw_code_name name;
	if (!items)
		return TW_ERR_MEMORY;
	f->items = items;
	tw_names_code(names, tw_names_image(names, thread), pc, &name);
	items[f->n++] = (struct tw_by_function_item){name.module, name.function, *counts};
	if (!tw_names_begins(names, pc, &name))
		items[f->n - 1].counts.calls = 0;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct tw_by_function_item *x = a, *y = b;
	int order = strcmp(x->module, y->module);
	return order ? order : strcmp(x->function, y->function);
}

static int by_insns(const void *a, const void *b)
{
	const struct tw_by_function_item *x = a, *y = b;
	if (x->counts.insns != y->counts.insns)
		return x->counts.insns > y->counts.insns ? -1 : 1;
	return by_name(a, b);
}

/* Makes one of the blocks of each function. */
static void join(struct tw_by_function *f)
{
	size_t n = 0;
	if (f->n)
		qsort(f->items, f->n, sizeof *f->items, by_name);
	for (size_t i = 0; i < f->n; i++) {
		if (n && !by_name(&f->items[n - 1], &f->items[i]))
			tw_function_counts_add(&f->items[n - 1].counts, &f->items[i].counts);
		else
			f->items[n++] = f->items[i];
	}
	f->n = n;
	if (n)
		qsort(f->items, n, sizeof *f->items, by_insns);
}

void tw_by_function_print(struct tw_by_function *f, struct tw_answer *a)
{
	static const struct tw_column columns[] = {{"instructions", TW_COLUMN_COUNT},
	                                           {"calls", TW_COLUMN_COUNT},
	                                           {"reads", TW_COLUMN_COUNT},
	                                           {"writes", TW_COLUMN_COUNT},
	                                           {"function", TW_COLUMN_TEXT},
	                                           {"module", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	join(f);
	tw_answer_table(a, "functions", "Functions that execute most instructions", columns);
	for (size_t i = 0; i < f->n; i++) {
		const struct tw_function_counts *c = &f->items[i].counts;
		tw_answer_row(a, (struct tw_cell[]){{.count = c->insns},
		                                    {.count = c->calls},
		                                    {.count = c->reads},
		                                    {.count = c->writes},
		                                    {.text = f->items[i].function},
		                                    {.text = f->items[i].module}});
	}
}

void tw_by_function_free(struct tw_by_function *f)
{
	free(f->items);
	f->items = NULL;
	f->n = f->room = 0;
}

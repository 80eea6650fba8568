#include "analyzers/branches_print.h"
#include "analyzers/by_place.h"

#include <stdlib.h>

/* Conditional branches first, those that TAGE gets wrong most, else those executed most; then targets. */
static int by_misses(const void *a, const void *b)
{
	const struct tw_branch *x = a, *y = b;
	if (!x->target != !y->target)
		return x->target ? 1 : -1;
	if (!x->target && x->wrong[TW_TAGE] != y->wrong[TW_TAGE])
		return x->wrong[TW_TAGE] > y->wrong[TW_TAGE] ? -1 : 1;
	if (x->taken + x->not_taken != y->taken + y->not_taken)
		return x->taken + x->not_taken > y->taken + y->not_taken ? -1 : 1;
	if (x->pc != y->pc)
		return x->pc > y->pc ? 1 : -1;
	if (x->target != y->target)
		return x->target > y->target ? 1 : -1;
	return (x->memory > y->memory) - (x->memory < y->memory);
}

static void name_place(struct tw_names *names, const struct tw_branch *b, uint64_t pc, char *to, size_t size)
{
	tw_place_of_code(names, tw_names_image(names, b->thread), pc, to, size);
}

static void print_totals(struct tw_answer *a, const struct tw_branches *t, int predicts)
{
	static const char *const facts[] = {[TW_BIMODAL] = "bimodal_wrong", [TW_GSHARE] = "gshare_wrong", [TW_TAGE] = "tage_wrong"};
	struct tw_branch all = {0};
	uint64_t indirect = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct tw_branch *b = &t->items[i];
		indirect += b->target ? b->taken : 0;
		all.taken += b->target ? 0 : b->taken;
		all.not_taken += b->not_taken;
		for (int k = 0; k < TW_PREDICTORS; k++)
			all.wrong[k] += b->wrong[k];
	}
	tw_answer_fact(a, "conditional", all.taken + all.not_taken);
	tw_answer_fact(a, "taken", all.taken);
	for (int k = 0; k < TW_PREDICTORS && predicts; k++)
		tw_answer_fact(a, facts[k], all.wrong[k]);
	tw_answer_fact(a, "indirect", indirect);
}

static void print_predicted(struct tw_answer *a, const struct tw_branches *t, struct tw_names *names)
{
	static const struct tw_column columns[] = {
	    {"executions", TW_COLUMN_COUNT}, {"taken", TW_COLUMN_COUNT},     {"bimodal", TW_COLUMN_COUNT}, {"gshare", TW_COLUMN_COUNT},
	    {"tage", TW_COLUMN_COUNT},       {"address", TW_COLUMN_ADDRESS}, {"place", TW_COLUMN_TEXT},    {NULL, 0}};
	char place[400];
	tw_answer_table(a, "branches", "Conditional branches, and how often predictors are wrong", columns);
	for (size_t i = 0; i < t->n && !t->items[i].target; i++) {
		const struct tw_branch *b = &t->items[i];
		name_place(names, b, b->pc, place, sizeof place);
		tw_answer_row(a, (struct tw_cell[]){{.count = b->taken + b->not_taken},
		                                    {.count = b->taken},
		                                    {.count = b->wrong[TW_BIMODAL]},
		                                    {.count = b->wrong[TW_GSHARE]},
		                                    {.count = b->wrong[TW_TAGE]},
		                                    {.count = b->pc},
		                                    {.text = place}});
	}
}

static void print_conditional(struct tw_answer *a, const struct tw_branches *t, struct tw_names *names)
{
	static const struct tw_column columns[] = {{"executions", TW_COLUMN_COUNT},
	                                           {"taken", TW_COLUMN_COUNT},
	                                           {"address", TW_COLUMN_ADDRESS},
	                                           {"place", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	char place[400];
	tw_answer_table(a, "branches", "Conditional branches", columns);
	for (size_t i = 0; i < t->n && !t->items[i].target; i++) {
		const struct tw_branch *b = &t->items[i];
		name_place(names, b, b->pc, place, sizeof place);
		tw_answer_row(
		    a, (struct tw_cell[]){{.count = b->taken + b->not_taken}, {.count = b->taken}, {.count = b->pc}, {.text = place}});
	}
}

static void print_targets(struct tw_answer *a, const struct tw_branches *t, struct tw_names *names)
{
	static const struct tw_column columns[] = {{"executions", TW_COLUMN_COUNT}, {"address", TW_COLUMN_ADDRESS},
	                                           {"target", TW_COLUMN_ADDRESS},   {"from", TW_COLUMN_TEXT},
	                                           {"to", TW_COLUMN_TEXT},          {NULL, 0}};
	char from[400], to[400];
	tw_answer_table(a, "targets", "Targets of indirect jumps and calls", columns);
	for (size_t i = 0; i < t->n; i++) {
		const struct tw_branch *b = &t->items[i];
		if (!b->target)
			continue;
		name_place(names, b, b->pc, from, sizeof from);
		name_place(names, b, b->target, to, sizeof to);
		tw_answer_row(
		    a, (struct tw_cell[]){{.count = b->taken}, {.count = b->pc}, {.count = b->target}, {.text = from}, {.text = to}});
	}
}

void tw_branches_print(struct tw_answer *a, struct tw_branches *t, struct tw_names *names, int predicts)
{
	if (t->n)
		qsort(t->items, t->n, sizeof *t->items, by_misses);
	print_totals(a, t, predicts);
	(predicts ? print_predicted : print_conditional)(a, t, names);
	print_targets(a, t, names);
}

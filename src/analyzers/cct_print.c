#include "analyzers/cct_print.h"
#include "analyzers/flame.h"

#include <stdlib.h>

struct printing {
	const struct tw_context_tree *tree;
	uint32_t *first, *next; /* children of each item, the most expensive first */
	double least;
	struct tw_answer *answer;
};

static int print_item(const struct printing *p, uint32_t i, uint32_t depth)
{
	const struct tw_context_function *f = &p->tree->items[i];
	double share = (double)f->all.insns / (double)(p->tree->items->all.insns + !p->tree->items->all.insns);
	char *name = NULL;
	if (share < p->least)
		return 0;
	if (asprintf(&name, "%*s%s", (int)(depth < 40 ? depth : 40), "", f->name) < 0)
		return TW_ERR_MEMORY;
	tw_answer_row(p->answer, (struct tw_cell[]){{.count = depth},
	                                            {.real = share},
	                                            {.count = f->all.insns},
	                                            {.count = f->own.insns},
	                                            {.count = f->all.refs},
	                                            {.count = f->calls},
	                                            {.text = name}});
	free(name);
	return 0;
}

/* Depth first, without recursion: programs recurse deeper than there is stack here. */
static int print_tree(const struct printing *p)
{
	uint32_t *depth = calloc(p->tree->n, sizeof *depth);
	uint32_t i = p->first[0];
	int error = depth ? 0 : TW_ERR_MEMORY;
	while (i && !error) {
		error = print_item(p, i, depth[i]);
		if (p->first[i]) {
			depth[p->first[i]] = depth[i] + 1;
			i = p->first[i];
			continue;
		}
		while (i && !p->next[i])
			i = p->tree->items[i].parent;
		if (i) {
			depth[p->next[i]] = depth[i];
			i = p->next[i];
		}
	}
	free(depth);
	return error;
}

static int print_text(const struct tw_context *c, const struct tw_context_tree *tree)
{
	static const struct tw_column columns[] = {
	    {"depth", TW_COLUMN_COUNT},      {"share", TW_COLUMN_SHARE}, {"inclusive", TW_COLUMN_COUNT}, {"exclusive", TW_COLUMN_COUNT},
	    {"references", TW_COLUMN_COUNT}, {"calls", TW_COLUMN_COUNT}, {"function", TW_COLUMN_TEXT},   {NULL, 0}};
	struct tw_answer *a = tw_context_answer(c);
	struct printing p = {.tree = tree, .answer = a, .least = (double)tw_context_number(c, "least") / 100};
	int error = tw_flame_children(tree, &p.first, &p.next);
	if (!error) {
		tw_answer_fact(a, "instructions", tree->items->all.insns);
		tw_answer_fact(a, "references", tree->items->all.refs);
		tw_answer_fact(a, "contexts", tree->n - 1);
		tw_answer_table(a, "contexts", "Calling contexts, callees behind their caller", columns);
		error = print_tree(&p);
	}
	free(p.first);
	free(p.next);
	return error;
}

int tw_cct_print(const struct tw_context *c, const struct tw_contexts *contexts)
{
	struct tw_names *names = tw_context_names(c);
	struct tw_context_tree tree = {0};
	int error = names ? tw_context_tree(contexts, names, &tree) : TW_ERR_MEMORY;
	if (error)
		;
	else if (tw_context_flag(c, "folded"))
		error = tw_flame_folded(tw_answer_stream(tw_context_answer(c)), &tree);
	else if (tw_context_flag(c, "speedscope"))
		error = tw_flame_speedscope(tw_answer_stream(tw_context_answer(c)), &tree);
	else if (tw_context_flag(c, "svg"))
		error = tw_flame_svg(tw_answer_stream(tw_context_answer(c)), &tree);
	else
		error = print_text(c, &tree);
	tw_context_tree_free(&tree);
	return error;
}

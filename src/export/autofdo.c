#include "export/autofdo.h"
#include "base/array.h"
#include "recording/recording.h"
#include "names/functions.h"
#include "report/inline_tree.h"
#include "report/line_table.h"

#include <stdlib.h>
#include <string.h>

/* A place in a function, as the format names it. */
struct place {
	uint32_t node;   /* of the inline tree */
	uint32_t offset; /* lines from the function's declaration, 16 bits */
	uint32_t discriminator;
};

struct line {
	struct place at;
	uint64_t count;
};

/* Calls from one place to one function. */
struct target {
	struct place at;
	const char *name;
	uint64_t count;
};

struct autofdo {
	FILE *f;
	const struct tw_file_profile *p;
	struct tw_line_table table;
	struct tw_inline_tree tree;
	struct tw_functions *functions;
	uint32_t *node_of; /* the innermost node of each instruction that ran */
	struct line *lines;
	struct target *targets;
	size_t n_lines, n_targets;
	uint64_t *totals; /* of each node, with what is inlined into it */
};

/* ---- places ---- */

static int order_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Compares places, or what begins with one. */
static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int o = order_numbers(x->node, y->node);
	if (!o)
		o = order_numbers(x->offset, y->offset);
	return o ? o : order_numbers(x->discriminator, y->discriminator);
}

static int by_target(const void *a, const void *b)
{
	const struct target *x = a, *y = b;
	int o = by_place(&x->at, &y->at);
	return o ? o : strcmp(x->name, y->name);
}

/* The first instruction that ran at or behind an address. */
static size_t insn_from(const struct tw_file_profile *p, uint64_t vaddr)
{
	return tw_array_before(&vaddr, p->insns, p->n_insns, sizeof *p->insns, tw_by_number);
}

static int find_nodes(struct autofdo *a)
{
	a->node_of = malloc((a->p->n_insns + 1) * sizeof *a->node_of);
	if (!a->node_of)
		return 0;
	memset(a->node_of, 0xff, a->p->n_insns * sizeof *a->node_of);
	for (size_t i = 0; i < a->tree.n_ranges; i++) {
		const struct tw_inline_range *r = &a->tree.ranges[i];
		for (size_t k = insn_from(a->p, r->start); k < a->p->n_insns && a->p->insns[k].vaddr < r->end; k++)
			a->node_of[k] = r->node;
	}
	return 1;
}

/* The place of instruction i, and the number of copies of it. 0: unknown. */
static int place_of(const struct autofdo *a, size_t i, struct place *out, uint32_t *copies)
{
	const struct tw_line_row *row = tw_line_table_find(&a->table, a->p->insns[i].vaddr);
	uint32_t node = a->node_of[i];
	if (node == TW_NO_NODE || !row || !row->line)
		return 0;
	const struct tw_inline_node *n = &a->tree.nodes[node];
	*copies = n->encoded ? tw_duplication_factor(row->discriminator) : 1;
	*out = (struct place){
	    .node = node,
	    .offset = (row->line - n->line) & 0xffff,
	    .discriminator = n->encoded ? tw_base_discriminator(row->discriminator) : row->discriminator,
	};
	return 1;
}

/* ---- counts ---- */

/* A line's count is that of its most executed instruction. */
static int list_lines(struct autofdo *a)
{
	size_t n = 0;
	a->lines = calloc(a->p->n_insns + 1, sizeof *a->lines);
	if (!a->lines)
		return 0;
	for (size_t i = 0; i < a->p->n_insns; i++) {
		struct place at;
		uint32_t copies;
		if (place_of(a, i, &at, &copies))
			a->lines[a->n_lines++] = (struct line){at, a->p->insns[i].executions * copies};
	}
	qsort(a->lines, a->n_lines, sizeof *a->lines, by_place);
	for (size_t i = 0; i < a->n_lines; i++) {
		if (!n || by_place(&a->lines[n - 1], &a->lines[i]))
			a->lines[n++] = a->lines[i];
		else if (a->lines[n - 1].count < a->lines[i].count)
			a->lines[n - 1].count = a->lines[i].count;
	}
	a->n_lines = n;
	return 1;
}

static void add_target(struct autofdo *a, const struct tw_file_edge *e)
{
	struct place at;
	uint32_t copies;
	size_t i = insn_from(a->p, e->from);
	const struct tw_function *callee = tw_functions_find(a->functions, e->to);
	if (callee && callee->plt != TW_PLT_COMMON && i < a->p->n_insns && place_of(a, i, &at, &copies))
		a->targets[a->n_targets++] = (struct target){at, callee->name, e->count};
}

static int list_targets(struct autofdo *a)
{
	size_t n = 0;
	a->targets = calloc(a->p->n_edges + 1, sizeof *a->targets);
	if (!a->targets)
		return 0;
	for (size_t i = 0; i < a->p->n_edges; i++) {
		const struct tw_file_edge *e = &a->p->edges[i];
		if (e->from != TW_OUTSIDE && e->to != TW_OUTSIDE && !e->fall && (e->end == TW_END_CALL || e->end == TW_END_ICALL))
			add_target(a, e);
	}
	qsort(a->targets, a->n_targets, sizeof *a->targets, by_target);
	for (size_t i = 0; i < a->n_targets; i++) {
		if (n && !by_target(&a->targets[n - 1], &a->targets[i]))
			a->targets[n - 1].count += a->targets[i].count;
		else
			a->targets[n++] = a->targets[i];
	}
	a->n_targets = n;
	return 1;
}

static int sum_lines(struct autofdo *a)
{
	a->totals = calloc(a->tree.n_nodes + 1, sizeof *a->totals);
	if (!a->totals)
		return 0;
	for (size_t i = 0; i < a->n_lines; i++)
		a->totals[a->lines[i].at.node] += a->lines[i].count;
	for (uint32_t i = a->tree.n_nodes; i-- > 0;)
		if (a->tree.nodes[i].parent != TW_NO_NODE)
			a->totals[a->tree.nodes[i].parent] += a->totals[i];
	return 1;
}

/* ---- output ---- */

static void put_offset(FILE *f, int depth, uint32_t offset, uint32_t discriminator)
{
	fprintf(f, "%*s%u", depth, "", offset);
	if (discriminator)
		fprintf(f, ".%u", discriminator);
	fputs(": ", f);
}

static void put_targets(const struct autofdo *a, const struct place *at)
{
	size_t i = tw_array_before(at, a->targets, a->n_targets, sizeof *a->targets, by_place);
	for (; i < a->n_targets && !by_place(&a->targets[i].at, at); i++)
		fprintf(a->f, " %.*s:%llu", (int)strcspn(a->targets[i].name, "@"), a->targets[i].name,
		        (unsigned long long)a->targets[i].count);
}

static void put_lines(const struct autofdo *a, uint32_t node, int depth)
{
	struct place first = {.node = node};
	size_t i = tw_array_before(&first, a->lines, a->n_lines, sizeof *a->lines, by_place);
	for (; i < a->n_lines && a->lines[i].at.node == node; i++) {
		const struct line *line = &a->lines[i];
		put_offset(a->f, depth, line->at.offset, line->at.discriminator);
		fprintf(a->f, "%llu", (unsigned long long)line->count);
		put_targets(a, &line->at);
		fputc('\n', a->f);
	}
}

static void put_node(const struct autofdo *a, uint32_t node, int depth);

/* A function's children follow it, before the next function that is not inlined. */
static void put_inlined(const struct autofdo *a, uint32_t parent, int depth)
{
	for (uint32_t i = parent + 1; i < a->tree.n_nodes && a->tree.nodes[i].parent != TW_NO_NODE; i++)
		if (a->tree.nodes[i].parent == parent && a->totals[i])
			put_node(a, i, depth);
}

static void put_node(const struct autofdo *a, uint32_t node, int depth)
{
	const struct tw_inline_node *n = &a->tree.nodes[node];
	if (depth)
		put_offset(a->f, depth, n->call, n->call_discriminator);
	fprintf(a->f, "%s:%llu", n->name, (unsigned long long)a->totals[node]);
	if (!depth) {
		const struct tw_file_insn *first = tw_file_profile_find(a->p, n->entry);
		fprintf(a->f, ":%llu", (unsigned long long)(first ? first->executions : 0));
	}
	fputc('\n', a->f);
	put_lines(a, node, depth + 1);
	put_inlined(a, node, depth + 1);
}

static void put_all(const struct autofdo *a)
{
	for (uint32_t i = 0; i < a->tree.n_nodes; i++)
		if (a->tree.nodes[i].parent == TW_NO_NODE && a->totals[i])
			put_node(a, i, 0);
}

/* ---- the whole ---- */

static int make(struct autofdo *a, const struct tw_symbols *symbols, const char *path)
{
	struct tw_texts sources = {0};
	uint64_t bias;
	Dwfl_Module *module = tw_symbols_dwfl(symbols, path, &bias);
	int error = tw_line_table(symbols, path, &sources, &a->table);
	tw_texts_free(&sources);
	if (!error)
		error = tw_inline_tree(symbols, path, &a->tree);
	if (error)
		return error;
	if (!a->table.n_rows || !a->tree.n_nodes) {
		const char *trouble = tw_symbols_trouble(symbols, path);
		return tw_fail(TW_ERR_SYSTEM, "%s: no debug information, which a sample profile needs: %s", path,
		               trouble ? trouble : "compile with -g");
	}
	a->functions = module ? tw_functions_new(module) : NULL;
	if (!a->functions || !find_nodes(a) || !list_lines(a) || !list_targets(a) || !sum_lines(a))
		return tw_fail(TW_ERR_MEMORY, "profile of %s", path);
	return 0;
}

int tw_autofdo(const struct tw_file_profile *p, const struct tw_symbols *symbols, const char *path, FILE *f)
{
	struct autofdo a = {.f = f, .p = p};
	int error = make(&a, symbols, path);
	if (!error)
		put_all(&a);
	tw_line_table_free(&a.table);
	tw_inline_tree_free(&a.tree);
	tw_functions_free(a.functions);
	free(a.node_of);
	free(a.lines);
	free(a.targets);
	free(a.totals);
	return error;
}

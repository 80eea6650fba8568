/* The control-flow graph of static blocks, for Graphviz. */
#include "recording/recording.h"
#include "report/blocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A block that is drawn. */
struct node {
	uint64_t heat; /* instructions executed */
	uint32_t block;
	struct tw_code_name name; /* function "": unknown */
};

struct graph {
	FILE *f;
	const struct tw_blocks_report *r;
	const struct tw_profile_blocks *all;
	struct node *nodes; /* the hottest first, until they are grouped */
	size_t n, n_found;  /* drawn; there to be drawn */
	uint64_t found_heat;
	uint64_t most_heat, most_count;
	uint8_t *drawn;   /* by block */
	uint8_t *on_path; /* by edge: part of the hottest path */
};

/* ---- what is drawn ---- */

static int by_heat(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	if (x->heat != y->heat)
		return x->heat > y->heat ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static int by_function(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int order = strcmp(x->name.function, y->name.function);
	if (!order && x->name.start != y->name.start)
		order = x->name.start > y->name.start ? 1 : -1;
	return order ? order : (x->block > y->block) - (x->block < y->block);
}

static void name_node(const struct graph *g, struct node *n)
{
	const struct tw_profile_block *b = &g->all->blocks[n->block];
	n->name.function = "";
	if (g->r->names)
		tw_names_code(g->r->names, b->image, b->pc, &n->name);
}

/* Chooses the nodes; returns whether there is one. */
static int choose(struct graph *g, const struct tw_graph_options *o)
{
	for (uint32_t i = 0; i < g->all->n_blocks; i++) {
		struct node *n = &g->nodes[g->n];
		*n = (struct node){.block = i, .heat = g->all->blocks[i].executions * g->all->blocks[i].n_insns};
		if (o->function)
			name_node(g, n);
		if (o->function && !tw_names_is(&n->name, o->function))
			continue;
		g->found_heat += n->heat;
		g->n++;
	}
	g->n_found = g->n;
	qsort(g->nodes, g->n, sizeof *g->nodes, by_heat);
	if (o->most && g->n > o->most)
		g->n = o->most;
	for (size_t i = 0; i < g->n; i++) {
		if (!o->function)
			name_node(g, &g->nodes[i]);
		g->drawn[g->nodes[i].block] = 1;
	}
	return g->n != 0;
}

/* Whether an edge is drawn. */
static int shows(const struct graph *g, const struct tw_profile_edge *e)
{
	return g->drawn[e->from] && g->drawn[e->to] && tw_blocks_shows(g->r, &g->all->blocks[e->from], e);
}

/* ---- the hottest path ---- */

static const struct tw_profile_edge *most_frequent(const struct graph *g, uint32_t block)
{
	const struct tw_profile_block *b = &g->all->blocks[block];
	for (uint32_t i = b->first_edge; i < b->first_edge + b->n_edges; i++)
		if (shows(g, &g->all->edges[i]))
			return &g->all->edges[i];
	return NULL;
}

/* Marks the edges from `block` on, the most frequent each time. */
static void mark_onwards(struct graph *g, uint32_t block)
{
	const struct tw_profile_edge *e;
	while ((e = most_frequent(g, block)) && !g->on_path[e - g->all->edges]) {
		g->on_path[e - g->all->edges] = 1;
		block = e->to;
	}
}

/* Marks the path of most frequent edges that leads to `block`. `best`: by block, the most frequent edge to it. */
static void mark_back(struct graph *g, uint32_t block, const struct tw_profile_edge **best)
{
	const struct tw_profile_edge *e;
	while ((e = best[block]) && !g->on_path[e - g->all->edges]) {
		g->on_path[e - g->all->edges] = 1;
		block = e->from;
	}
}

static int mark_path(struct graph *g)
{
	const struct tw_profile_edge **best = calloc(g->all->n_blocks, sizeof *best);
	if (!best)
		return 0;
	for (uint32_t i = 0; i < g->all->n_edges; i++) {
		const struct tw_profile_edge *e = &g->all->edges[i];
		if (!shows(g, e))
			continue;
		if (!best[e->to] || e->count > best[e->to]->count)
			best[e->to] = e;
		if (e->count > g->most_count)
			g->most_count = e->count;
	}
	g->most_heat = g->nodes[0].heat;
	mark_onwards(g, g->nodes[0].block);
	mark_back(g, g->nodes[0].block, best);
	free(best);
	return 1;
}

/* ---- printing ---- */

/* Text inside quotes. */
static void put_text(FILE *f, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', f);
		if ((unsigned char)*text >= 0x20)
			fputc(*text, f);
	}
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static void print_title(const struct graph *g, const struct tw_graph_options *o)
{
	uint64_t heat = 0;
	for (size_t i = 0; i < g->n; i++)
		heat += g->nodes[i].heat;
	fprintf(g->f, "digraph blocks {\n  label=\"");
	put_text(g->f, g->r->source);
	if (o->function) {
		fprintf(g->f, ", function ");
		put_text(g->f, o->function);
	}
	if (g->n < g->n_found)
		fprintf(g->f, "\\ncut to the hottest %zu of %zu static blocks, with %.1f %% of their executed instructions", g->n,
		        g->n_found, 100 * share((double)heat, (double)g->found_heat));
	else
		fprintf(g->f, "\\n%zu static block%s", g->n, g->n == 1 ? "" : "s");
	fprintf(g->f, "\\nred: the hottest path\";\n  labelloc=t;\n  fontname=\"Helvetica\";\n"
	              "  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=10];\n"
	              "  edge [fontname=\"Helvetica\", fontsize=9];\n");
}

static void print_node(const struct graph *g, const struct node *n)
{
	const struct tw_profile_block *b = &g->all->blocks[n->block];
	char place[400];
	tw_blocks_place(g->r, b, place, sizeof place);
	fprintf(g->f, "    b%" PRIu32 " [label=\"%" PRIu32 "  %s\\n", n->block, n->block, tw_ending_name(b->ending));
	if (place[0]) {
		put_text(g->f, place);
		fprintf(g->f, "\\n");
	}
	fprintf(g->f, "%" PRIx64 "..%" PRIx64 ", %" PRIu32 " insn%s\\n%" PRIu64 " times\", fillcolor=\"0.08 %.2f 1.0\"];\n", b->pc,
	        b->last_pc, b->n_insns, b->n_insns == 1 ? "" : "s", b->executions, sqrt(share((double)n->heat, (double)g->most_heat)));
}

static void print_nodes(const struct graph *g)
{
	for (size_t i = 0; i < g->n; i++) {
		const char *name = g->nodes[i].name.function;
		int begins = name[0] && (!i || strcmp(name, g->nodes[i - 1].name.function));
		int ends = name[0] && (i + 1 == g->n || strcmp(name, g->nodes[i + 1].name.function));
		if (begins) {
			fprintf(g->f, "  subgraph cluster_%zu {\n    label=\"", i);
			put_text(g->f, name);
			fprintf(g->f, "\"; color=gray;\n");
		}
		print_node(g, &g->nodes[i]);
		if (ends)
			fprintf(g->f, "  }\n");
	}
}

static void print_edge(const struct graph *g, const struct tw_profile_edge *e)
{
	uint64_t all = g->all->blocks[e->from].executions;
	fprintf(g->f, "  b%" PRIu32 " -> b%" PRIu32 " [label=\"%" PRIu64, e->from, e->to, e->count);
	double percent = 100 * share((double)e->count, (double)all);
	if (e->count < all && percent >= 99.5)
		fprintf(g->f, " (>99%%)");
	else if (e->count < all)
		fprintf(g->f, " (%.0f%%)", percent);
	fprintf(g->f, "\", penwidth=%.1f%s%s];\n", 1 + 3 * share((double)e->count, (double)g->most_count),
	        e->fall ? ", weight=4" : ", style=dashed", g->on_path[e - g->all->edges] ? ", color=red, fontcolor=red" : "");
}

static void print(struct graph *g, const struct tw_graph_options *o)
{
	print_title(g, o);
	qsort(g->nodes, g->n, sizeof *g->nodes, by_function);
	print_nodes(g);
	for (uint32_t i = 0; i < g->all->n_edges; i++)
		if (shows(g, &g->all->edges[i]))
			print_edge(g, &g->all->edges[i]);
	fprintf(g->f, "}\n");
}

int tw_blocks_graph(FILE *f, const struct tw_blocks_report *r, const struct tw_graph_options *options)
{
	const struct tw_profile_blocks *all = &r->profile->fixed;
	struct graph g = {.f = f, .r = r, .all = all};
	g.nodes = calloc(all->n_blocks + 1u, sizeof *g.nodes);
	g.drawn = calloc(all->n_blocks + 1u, 1);
	g.on_path = calloc(all->n_edges + 1u, 1);
	int error = g.nodes && g.drawn && g.on_path ? 0 : tw_fail(TW_ERR_MEMORY, "graph");
	if (!error && !choose(&g, options))
		error = 1;
	if (!error && !mark_path(&g))
		error = tw_fail(TW_ERR_MEMORY, "graph");
	if (!error)
		print(&g, options);
	free(g.nodes);
	free(g.drawn);
	free(g.on_path);
	return error;
}

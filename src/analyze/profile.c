#include "analyze/profile.h"
#include "analyze/profile.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/* A profile under construction. Arrays are indexed by instruction unless stated otherwise. */
struct build {
	const struct tw_flow *flow;
	struct tw_profile *p;
	uint32_t *insn_of; /* by node */
	uint64_t *begun;   /* executions right after a jump or at the beginning of a stream: starts of dynamic blocks */
	uint64_t *ended;   /* executions that ended a dynamic block, or the stream */
	uint64_t *total;   /* by run: how often it was begun */
	uint32_t *dynamic; /* the dynamic block that begins here */
	uint8_t *leads;    /* begins a static block */
};

const char *tw_ending_name(enum tw_ending ending)
{
	static const char *const names[TW_N_ENDINGS] = {"NB", "UB", "CB", "IJ"};
	return names[ending];
}

/* ---- instructions ---- */

static int by_place(const void *a, const void *b)
{
	const struct tw_profile_insn *x = a, *y = b;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	if (x->pc != y->pc)
		return x->pc < y->pc ? -1 : 1;
	return x->length - y->length;
}

/* `block` holds the node until all are sorted. */
static void list_insns(struct build *b)
{
	const struct tw_flow *f = b->flow;
	struct tw_profile *p = b->p;
	for (uint32_t i = 1; i < f->n_nodes; i++) {
		const struct tw_flow_node *n = &f->nodes[i];
		p->insns[p->n_insns++] = (struct tw_profile_insn){
		    .pc = n->pc,
		    .reads = n->reads,
		    .writes = n->writes,
		    .image = n->image,
		    .block = i,
		    .length = n->length,
		    .end = n->end,
		    .jump = n->jump,
		};
	}
	qsort(p->insns, p->n_insns, sizeof *p->insns, by_place);
	for (uint32_t i = 0; i < p->n_insns; i++)
		b->insn_of[p->insns[i].block] = i;
	for (uint32_t i = 0; i < p->n_insns; i++) {
		uint32_t fall = f->nodes[p->insns[i].block].fall;
		p->next[i] = fall == TW_NO_INDEX ? TW_NO_INDEX : b->insn_of[fall];
	}
}

static void sum_runs(struct build *b)
{
	const struct tw_flow *f = b->flow;
	for (uint32_t i = 1; i < f->n_runs; i++)
		b->total[i] = f->runs[i].stops;
	for (uint32_t i = 1; i < f->n_edges; i++)
		b->total[f->edges[i].run] += f->edges[i].count;
	for (uint32_t i = 1; i < f->n_runs; i++) {
		b->begun[b->insn_of[f->runs[i].first]] += b->total[i];
		b->ended[b->insn_of[f->runs[i].last]] += b->total[i];
	}
}

/*
 * Executions of each instruction: those that began there, and those that came from the instruction before it.
 * Instructions are sorted, so the one before is complete. An instruction reached from two (overlapping) predecessors
 * begins a static block.
 */
static void count_insns(struct build *b)
{
	struct tw_profile *p = b->p;
	for (uint32_t i = 0; i < p->n_insns; i++)
		p->insns[i].executions = b->begun[i];
	for (uint32_t i = 0; i < p->n_insns; i++) {
		uint64_t on = p->insns[i].executions - b->ended[i];
		p->executions += p->insns[i].executions;
		if (!on)
			continue;
		b->leads[p->next[i]] |= p->insns[p->next[i]].executions > b->begun[p->next[i]];
		p->insns[p->next[i]].executions += on;
	}
	for (uint32_t i = 0; i < p->n_insns; i++)
		b->leads[i] |= b->begun[i] != 0;
}

/* ---- edges ---- */

static int by_ends(const void *a, const void *b)
{
	const struct tw_profile_edge *x = a, *y = b;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static int by_count(const void *a, const void *b)
{
	const struct tw_profile_edge *x = a, *y = b;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static void add_edge(struct tw_profile_blocks *all, uint32_t from, uint32_t to, uint64_t count)
{
	all->edges[all->n_edges++] = (struct tw_profile_edge){.from = from, .to = to, .count = count};
}

/* Merges edges with the same ends; leaves them sorted. */
static void join_edges(struct tw_profile_blocks *all)
{
	uint32_t n = 0;
	qsort(all->edges, all->n_edges, sizeof *all->edges, by_ends);
	for (uint32_t i = 0; i < all->n_edges; i++) {
		if (n && !by_ends(&all->edges[n - 1], &all->edges[i]))
			all->edges[n - 1].count += all->edges[i].count;
		else
			all->edges[n++] = all->edges[i];
	}
	all->n_edges = n;
}

static enum tw_ending ending_of(const struct tw_profile_edge *edges, uint32_t n)
{
	uint32_t fall = 0;
	for (uint32_t i = 0; i < n; i++)
		fall += edges[i].fall;
	if (n == fall)
		return TW_ENDING_NB;
	if (n - fall > 1)
		return TW_ENDING_IJ;
	return fall ? TW_ENDING_CB : TW_ENDING_UB;
}

/* Gives each block its edges, and its ending by them. */
static void settle_edges(struct tw_profile *p, struct tw_profile_blocks *all)
{
	uint32_t at = 0;
	join_edges(all);
	for (uint32_t i = 0; i < all->n_blocks; i++) {
		struct tw_profile_block *block = &all->blocks[i];
		block->first_edge = at;
		for (; at < all->n_edges && all->edges[at].from == i; at++)
			all->edges[at].fall = all->blocks[all->edges[at].to].first_insn == p->next[block->last_insn];
		block->n_edges = at - block->first_edge;
		struct tw_profile_edge *edges = all->edges + block->first_edge;
		qsort(edges, block->n_edges, sizeof *edges, by_count);
		block->ending = (uint8_t)ending_of(edges, block->n_edges);
	}
}

/* ---- dynamic blocks ---- */

/* Sets what follows from the first and the last instruction. */
static void span_block(const struct tw_profile *p, struct tw_profile_block *block, uint32_t last)
{
	const struct tw_profile_insn *from = &p->insns[block->first_insn], *to = &p->insns[last];
	block->pc = from->pc;
	block->image = from->image;
	block->last_insn = last;
	block->last_pc = to->pc;
	block->bytes = (uint32_t)(to->pc + to->length - from->pc);
	block->end = to->end;
	block->n_insns = 1;
	for (uint32_t i = block->first_insn; i != last; i = p->next[i])
		block->n_insns++;
}

static void list_dynamic(struct build *b)
{
	struct tw_profile *p = b->p;
	struct tw_profile_blocks *all = &p->dynamic;
	for (uint32_t i = 0; i < p->n_insns; i++) {
		if (!b->begun[i])
			continue;
		b->dynamic[i] = all->n_blocks;
		all->blocks[all->n_blocks++] = (struct tw_profile_block){.first_insn = i, .last_insn = i, .executions = b->begun[i]};
		p->dynamic_executions += b->begun[i];
	}
}

/* A block ends with its jump; a block that never reached it ends where its longest execution did. */
static void extend_dynamic(struct build *b)
{
	const struct tw_flow *f = b->flow;
	struct tw_profile_blocks *all = &b->p->dynamic;
	for (uint32_t i = 1; i < f->n_runs; i++) {
		struct tw_profile_block *block = &all->blocks[b->dynamic[b->insn_of[f->runs[i].first]]];
		uint32_t last = b->insn_of[f->runs[i].last];
		if (last > block->last_insn)
			block->last_insn = last;
	}
	for (uint32_t i = 0; i < all->n_blocks; i++)
		span_block(b->p, &all->blocks[i], all->blocks[i].last_insn);
}

static void make_dynamic(struct build *b)
{
	const struct tw_flow *f = b->flow;
	list_dynamic(b);
	extend_dynamic(b);
	for (uint32_t i = 1; i < f->n_edges; i++) {
		const struct tw_flow_edge *e = &f->edges[i];
		uint32_t from = b->dynamic[b->insn_of[f->runs[e->run].first]];
		add_edge(&b->p->dynamic, from, b->dynamic[b->insn_of[e->to]], e->count);
	}
	settle_edges(b->p, &b->p->dynamic);
}

/* ---- static blocks ---- */

/* Makes the static block that begins with `first`, and returns its last instruction. Code after a jump also begins a block. */
static uint32_t take_block(struct build *b, uint32_t first, uint32_t block)
{
	struct tw_profile *p = b->p;
	uint32_t i = first, next;
	p->insns[i].block = block;
	while ((next = p->next[i]) != TW_NO_INDEX && !b->leads[next]) {
		i = next;
		p->insns[i].block = block;
	}
	return i;
}

static void list_static(struct build *b)
{
	struct tw_profile *p = b->p;
	struct tw_profile_blocks *all = &p->fixed;
	for (uint32_t i = 0; i < p->n_insns; i++) {
		if (!b->leads[i])
			continue;
		struct tw_profile_block *block = &all->blocks[all->n_blocks];
		*block = (struct tw_profile_block){.first_insn = i, .executions = p->insns[i].executions};
		span_block(p, block, take_block(b, i, all->n_blocks++));
		p->static_executions += block->executions;
	}
}

static void make_static(struct build *b)
{
	const struct tw_flow *f = b->flow;
	struct tw_profile *p = b->p;
	list_static(b);
	for (uint32_t i = 1; i < f->n_edges; i++) {
		const struct tw_flow_edge *e = &f->edges[i];
		uint32_t last = b->insn_of[f->runs[e->run].last];
		add_edge(&p->fixed, p->insns[last].block, p->insns[b->insn_of[e->to]].block, e->count);
	}
	for (uint32_t i = 0; i < p->fixed.n_blocks; i++) {
		uint32_t last = p->fixed.blocks[i].last_insn;
		uint64_t on = p->insns[last].executions - b->ended[last];
		if (on)
			add_edge(&p->fixed, i, p->insns[p->next[last]].block, on);
	}
	settle_edges(p, &p->fixed);
}

/* ---- all of it ---- */

static int allocate(struct build *b)
{
	struct tw_profile *p = b->p;
	size_t insns = b->flow->n_nodes, runs = b->flow->n_runs, edges = b->flow->n_edges;
	p->insns = tw_array_table(insns, sizeof *p->insns);
	p->next = tw_array_table(insns, sizeof *p->next);
	p->fixed.blocks = tw_array_table(insns, sizeof *p->fixed.blocks);
	p->fixed.edges = tw_array_table(insns + edges, sizeof *p->fixed.edges);
	p->dynamic.blocks = tw_array_table(insns, sizeof *p->dynamic.blocks);
	p->dynamic.edges = tw_array_table(edges, sizeof *p->dynamic.edges);
	b->insn_of = tw_array_table(insns, sizeof *b->insn_of);
	b->begun = tw_array_table(insns, sizeof *b->begun);
	b->ended = tw_array_table(insns, sizeof *b->ended);
	b->dynamic = tw_array_table(insns, sizeof *b->dynamic);
	b->leads = tw_array_table(insns, 1);
	b->total = tw_array_table(runs, sizeof *b->total);
	return p->insns && p->next && p->fixed.blocks && p->fixed.edges && p->dynamic.blocks && p->dynamic.edges && b->insn_of &&
	       b->begun && b->ended && b->dynamic && b->leads && b->total;
}

static void free_build(struct build *b)
{
	free(b->insn_of);
	free(b->begun);
	free(b->ended);
	free(b->dynamic);
	free(b->leads);
	free(b->total);
}

int tw_flow_profile(struct tw_flow *f, struct tw_profile_image *images, uint32_t n_images, struct tw_profile *out)
{
	struct build b = {.flow = f, .p = out};
	*out = (struct tw_profile){.images = images, .n_images = n_images, .streams = f->streams};
	int error = tw_flow_settle(f);
	if (!error && !allocate(&b))
		error = tw_fail(TW_ERR_MEMORY, "profile");
	if (!error) {
		list_insns(&b);
		sum_runs(&b);
		count_insns(&b);
		make_dynamic(&b);
		make_static(&b);
	} else {
		tw_profile_free(out);
	}
	free_build(&b);
	return error;
}

void tw_profile_free(struct tw_profile *p)
{
	free(p->fixed.blocks);
	free(p->fixed.edges);
	free(p->dynamic.blocks);
	free(p->dynamic.edges);
	free(p->insns);
	free(p->next);
	free(p->images);
	memset(p, 0, sizeof *p);
}

/* ---- what executed most ---- */

static int by_heat(const void *a, const void *b)
{
	const struct tw_profile_hot *x = a, *y = b;
	if (x->insns != y->insns)
		return x->insns > y->insns ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

struct tw_profile_hot *tw_profile_hottest(const struct tw_profile_blocks *all)
{
	struct tw_profile_hot *hot = calloc(all->n_blocks + 1u, sizeof *hot);
	for (uint32_t i = 0; hot && i < all->n_blocks; i++)
		hot[i] = (struct tw_profile_hot){all->blocks[i].executions * all->blocks[i].n_insns, i};
	if (hot)
		qsort(hot, all->n_blocks, sizeof *hot, by_heat);
	return hot;
}

#include "export/file_profile.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

struct build {
	const struct tw_profile *p;
	struct tw_file_profile *out;
	uint64_t *start; /* of each static block in the file; TW_OUTSIDE: it is in another file */
};

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_vaddr(const void *a, const void *b)
{
	return order(((const struct tw_file_insn *)a)->vaddr, ((const struct tw_file_insn *)b)->vaddr);
}

static int by_ends(const void *a, const void *b)
{
	const struct tw_file_edge *x = a, *y = b;
	return x->from != y->from ? order(x->from, y->from) : order(x->to, y->to);
}

static void find_starts(struct build *b, const struct tw_symbols *symbols, const char *path)
{
	const struct tw_profile_blocks *all = &b->p->fixed;
	for (uint32_t i = 0; i < all->n_blocks; i++) {
		struct tw_symbol_place place;
		tw_symbols_place(symbols, TW_SYMBOLS_IMAGE(all->blocks[i].image), all->blocks[i].pc, &place);
		b->start[i] = strcmp(place.path, path) ? TW_OUTSIDE : place.vaddr;
	}
}

/* Whether an edge is a string instruction's way back to itself. */
static int repeats(const struct tw_profile_blocks *all, const struct tw_profile_edge *e)
{
	const struct tw_profile_block *from = &all->blocks[e->from];
	return all->blocks[e->to].pc == from->last_pc && e->from == e->to && from->end == TW_END_FALL;
}

static uint64_t repetitions(const struct tw_profile_blocks *all, const struct tw_profile_block *block)
{
	for (uint32_t i = block->first_edge; i < block->first_edge + block->n_edges; i++)
		if (repeats(all, &all->edges[i]))
			return all->edges[i].count;
	return 0;
}

/* Adds the instructions of a block; a conditional branch within it was never taken. */
static void add_insns(struct build *b, uint32_t block)
{
	const struct tw_profile_block *from = &b->p->fixed.blocks[block];
	struct tw_file_profile *out = b->out;
	uint32_t i = from->first_insn;
	uint64_t again = repetitions(&b->p->fixed, from);
	for (uint32_t k = 0; k < from->n_insns; k++, i = b->p->next[i]) {
		const struct tw_profile_insn *insn = &b->p->insns[i];
		uint64_t vaddr = b->start[block] + insn->pc - from->pc;
		out->insns[out->n_insns++] = (struct tw_file_insn){vaddr, insn->executions - again, insn->length, insn->end};
		if (insn->end == TW_END_COND && k + 1 < from->n_insns)
			out->edges[out->n_edges++] =
			    (struct tw_file_edge){vaddr, vaddr + insn->length, insn->executions, TW_END_COND, 1, 0};
	}
}

static void add_edge(struct build *b, const struct tw_profile_edge *e)
{
	const struct tw_profile_block *from = &b->p->fixed.blocks[e->from];
	uint64_t start = b->start[e->from];
	struct tw_file_edge edge = {
	    .from = start == TW_OUTSIDE ? TW_OUTSIDE : start + from->last_pc - from->pc,
	    .to = b->start[e->to],
	    .count = e->count,
	    .end = from->end,
	    .fall = e->fall,
	};
	if ((edge.from != TW_OUTSIDE || edge.to != TW_OUTSIDE) && !repeats(&b->p->fixed, e))
		b->out->edges[b->out->n_edges++] = edge;
}

static int is_call(uint8_t end)
{
	return end == TW_END_CALL || end == TW_END_ICALL;
}

/* Turns returns into edges of the calls that they return to. The instructions are sorted. */
static void pair_returns(struct tw_file_profile *p)
{
	for (size_t i = 0; i < p->n_edges; i++) {
		struct tw_file_edge *e = &p->edges[i];
		const struct tw_file_insn *to = e->end == TW_END_RETURN && e->to != TW_OUTSIDE ? tw_file_profile_find(p, e->to) : NULL;
		const struct tw_file_insn *call = to && to > p->insns ? to - 1 : NULL;
		if (call && is_call(call->end) && call->vaddr + call->length == to->vaddr)
			*e = (struct tw_file_edge){.from = call->vaddr, .to = e->to, .count = e->count, .end = call->end, .fall = 1};
	}
}

/* Whether an edge says nothing about starts of blocks: control fell through, or (a system call without fall-through) a handler returned. */
static int goes_on(const struct tw_file_edge *e)
{
	return e->end == TW_END_FALL || e->end == TW_END_SYSCALL || (e->fall && is_call(e->end));
}

static int is_direct(uint8_t end)
{
	return end == TW_END_JUMP || end == TW_END_COND || end == TW_END_CALL;
}

static struct tw_file_edge from_outside(struct tw_file_edge e)
{
	return (struct tw_file_edge){.from = TW_OUTSIDE, .to = e.to, .count = e.count, .end = TW_END_ICALL};
}

/*
 * Separates, among the edges of one instruction, those that do not come from it: a signal handler began there. A
 * direct branch has only one target.
 */
static void part_handlers(struct tw_file_edge *edges, size_t n)
{
	const struct tw_file_edge *most = NULL;
	for (size_t i = 0; i < n; i++)
		if (!edges[i].fall && (!most || most->count < edges[i].count))
			most = &edges[i];
	for (size_t i = 0; i < n; i++) {
		int other = is_direct(edges[i].end) && &edges[i] != most;
		if (!edges[i].fall && (edges[i].end == TW_END_FALL || other))
			edges[i] = from_outside(edges[i]);
	}
}

/* Makes signal handlers entered from outside. The edges are sorted by source. */
static void find_handlers(struct tw_file_profile *p)
{
	size_t end;
	for (size_t i = 0; i < p->n_edges; i = end) {
		for (end = i; end < p->n_edges && p->edges[end].from == p->edges[i].from; end++)
			;
		if (p->edges[i].from != TW_OUTSIDE)
			part_handlers(p->edges + i, end - i);
	}
}

static int by_target(const void *a, const void *b)
{
	const struct tw_file_edge *x = a, *y = b;
	return x->to != y->to ? order(x->to, y->to) : goes_on(x) - goes_on(y);
}

/* The edge between two instructions; NULL: there is none. */
static struct tw_file_edge *find_edge(const struct tw_file_profile *p, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < p->n_edges; i++)
		if (p->edges[i].from == from && p->edges[i].to == to)
			return &p->edges[i];
	return NULL;
}

/* How often control fell from the instruction at `from` to that at `to`, according to the edges. */
static uint64_t fallen(const struct tw_file_profile *p, uint64_t from, uint64_t to)
{
	const struct tw_file_edge *e = find_edge(p, from, to);
	return e ? e->count : 0;
}

/* How often the instruction at `from` ran without an edge that says where it led: a handler interrupted after it. */
static uint64_t interrupted(const struct tw_file_profile *p, uint64_t from)
{
	const struct tw_file_insn *insn = tw_file_profile_find(p, from);
	uint64_t told = 0;
	for (size_t i = 0; i < p->n_edges; i++)
		told += p->edges[i].from == from ? p->edges[i].count : 0;
	return insn && insn->executions > told ? insn->executions - told : 0;
}

/* Moves count from `e` to edge x, up to what x lacks. */
static void give(struct tw_file_edge *x, uint64_t lacking, struct tw_file_edge *e)
{
	const uint64_t given = lacking < e->count ? lacking : e->count;
	x->count += given;
	e->count -= given;
}

/* Branches with this end that lead where `e` does. */
static void give_to_branches(const struct tw_file_profile *p, uint8_t end, struct tw_file_edge *e)
{
	for (size_t i = 0; i < p->n_edges && e->count; i++) {
		struct tw_file_edge *x = &p->edges[i];
		if (x->to == e->to && x->from != TW_OUTSIDE && x->end == end)
			give(x, interrupted(p, x->from), e);
	}
}

/*
 * A handler returned to a place that is also a branch target. It had interrupted between two instructions. The first
 * of them, which fell through, jumped or branched to that place, ran more often than its edges say, and gets that
 * execution.
 */
static void close_gap(const struct tw_file_profile *p, struct tw_file_edge *e)
{
	if (e->end != TW_END_SYSCALL || e->fall)
		return;
	const struct tw_file_insn *to = tw_file_profile_find(p, e->to), *before = to && to > p->insns ? to - 1 : NULL;
	if (before && (before->end != TW_END_FALL || before->vaddr + before->length != to->vaddr))
		before = NULL;
	struct tw_file_edge *fall = before ? find_edge(p, before->vaddr, to->vaddr) : NULL;
	if (fall)
		give(fall, interrupted(p, before->vaddr), e);
	give_to_branches(p, TW_END_JUMP, e);
	give_to_branches(p, TW_END_COND, e);
	if (!e->count)
		*e = (struct tw_file_edge){.from = TW_OUTSIDE, .to = TW_OUTSIDE}; /* which join_edges leaves out */
	else if (before && !fall && before->executions >= e->count)
		*e = (struct tw_file_edge){before->vaddr, e->to, e->count, TW_END_FALL, 1, 1};
}

static void join_edges(struct tw_file_profile *p)
{
	size_t n = 0;
	if (p->n_edges)
		qsort(p->edges, p->n_edges, sizeof *p->edges, by_ends);
	for (size_t i = 0; i < p->n_edges; i++) {
		if (p->edges[i].from == TW_OUTSIDE && p->edges[i].to == TW_OUTSIDE)
			continue;
		if (n && !by_ends(&p->edges[n - 1], &p->edges[i]))
			p->edges[n - 1].count += p->edges[i].count;
		else
			p->edges[n++] = p->edges[i];
	}
	p->n_edges = n;
}

/* A handler returned to a call's return address: it had interrupted after the return to there. */
static void give_to_call(const struct tw_file_profile *p, struct tw_file_edge *e)
{
	const struct tw_file_insn *to = e->end == TW_END_SYSCALL && !e->fall ? tw_file_profile_find(p, e->to) : NULL;
	const struct tw_file_insn *call = to && to > p->insns ? to - 1 : NULL;
	if (!call || !is_call(call->end) || call->vaddr + call->length != to->vaddr ||
	    call->executions < fallen(p, call->vaddr, to->vaddr) + e->count)
		return;
	*e = (struct tw_file_edge){.from = call->vaddr, .to = e->to, .count = e->count, .end = call->end, .fall = 1};
}

static void find_interrupted_returns(struct tw_file_profile *p)
{
	for (size_t i = 0; i < p->n_edges; i++)
		give_to_call(p, &p->edges[i]);
	join_edges(p);
}

/*
 * Marks edges that join branch targets. Drops fall-through edges that do not: around repeated string instructions,
 * and where handlers returned.
 */
static void find_joins(struct tw_file_profile *p)
{
	size_t n = 0;
	uint64_t joint = TW_OUTSIDE; /* where branches lead */
	if (p->n_edges)
		qsort(p->edges, p->n_edges, sizeof *p->edges, by_target);
	for (size_t i = 0; i < p->n_edges; i++) {
		struct tw_file_edge *e = &p->edges[i];
		if (!goes_on(e))
			joint = e->to;
		e->joins = goes_on(e) && joint == e->to;
		if (e->joins || !goes_on(e) || is_call(e->end))
			p->edges[n++] = *e;
	}
	p->n_edges = n;
	for (size_t i = 0; i < n; i++)
		if (p->edges[i].joins)
			close_gap(p, &p->edges[i]);
}

static void join_insns(struct tw_file_profile *p)
{
	size_t n = 0;
	if (p->n_insns)
		qsort(p->insns, p->n_insns, sizeof *p->insns, by_vaddr);
	for (size_t i = 0; i < p->n_insns; i++) {
		if (n && p->insns[n - 1].vaddr == p->insns[i].vaddr)
			p->insns[n - 1].executions += p->insns[i].executions;
		else
			p->insns[n++] = p->insns[i];
	}
	p->n_insns = n;
}

int tw_file_profile(const struct tw_profile *p, const struct tw_symbols *symbols, const char *path, struct tw_file_profile *out)
{
	struct build b = {.p = p, .out = out, .start = calloc(p->fixed.n_blocks + 1, sizeof *b.start)};
	*out = (struct tw_file_profile){
	    .insns = calloc(p->n_insns + 1, sizeof *out->insns),
	    .edges = calloc((size_t)p->fixed.n_edges + p->n_insns + 1, sizeof *out->edges),
	};
	if (!b.start || !out->insns || !out->edges) {
		tw_file_profile_free(out);
		free(b.start);
		return tw_fail(TW_ERR_MEMORY, "profile of %s", path);
	}
	find_starts(&b, symbols, path);
	for (uint32_t i = 0; i < p->fixed.n_blocks; i++)
		if (b.start[i] != TW_OUTSIDE)
			add_insns(&b, i);
	for (uint32_t i = 0; i < p->fixed.n_edges; i++)
		add_edge(&b, &p->fixed.edges[i]);
	join_insns(out);
	pair_returns(out);
	join_edges(out);
	find_handlers(out);
	find_interrupted_returns(out);
	find_joins(out);
	join_edges(out);
	free(b.start);
	return 0;
}

void tw_file_profile_free(struct tw_file_profile *p)
{
	free(p->insns);
	free(p->edges);
	memset(p, 0, sizeof *p);
}

const struct tw_file_insn *tw_file_profile_find(const struct tw_file_profile *p, uint64_t vaddr)
{
	struct tw_file_insn key = {.vaddr = vaddr};
	return p->n_insns ? bsearch(&key, p->insns, p->n_insns, sizeof key, by_vaddr) : NULL;
}

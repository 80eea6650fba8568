#include "export/line_counts.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* On a line with more paths between its blocks than this (a program on one line), only blocks that follow themselves count as loops. */
enum { MAX_WAYS = 2000 };

/* A basic block of the code that ran. */
struct block {
	uint64_t first, last; /* its instructions */
	uint64_t executions;
	uint32_t line; /* the item of `lines` it ends on; NONE: on none */
	uint8_t end;   /* enum tw_end of its last instruction */
};

/* Control went from one block to another, or came from elsewhere (NONE). */
struct arc {
	uint32_t from, to;
	uint64_t count;
};

struct counts {
	const struct tw_file_profile *p;
	const struct tw_line_table *t;
	struct tw_line_count *lines; /* sorted */
	size_t n_lines;
	struct block *blocks; /* sorted */
	uint32_t n_blocks;
	struct arc *arcs; /* sorted by the line their target ends on */
	size_t n_arcs;
	uint8_t *visited; /* by block */
};

/* ---- lines ---- */

static int by_line(const void *a, const void *b)
{
	const struct tw_line_count *x = a, *y = b;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static int list_lines(struct counts *c)
{
	size_t n = 0;
	c->lines = calloc(c->t->n_rows + 1, sizeof *c->lines);
	if (!c->lines)
		return 0;
	for (size_t i = 0; i < c->t->n_rows; i++)
		if (c->t->rows[i].line)
			c->lines[c->n_lines++] = (struct tw_line_count){.source = c->t->rows[i].source, .line = c->t->rows[i].line};
	qsort(c->lines, c->n_lines, sizeof *c->lines, by_line);
	for (size_t i = 0; i < c->n_lines; i++)
		if (!n || by_line(&c->lines[n - 1], &c->lines[i]))
			c->lines[n++] = c->lines[i];
	c->n_lines = n;
	return 1;
}

static uint32_t line_of(const struct counts *c, uint64_t vaddr)
{
	const struct tw_line_row *row = tw_line_table_find(c->t, vaddr);
	if (!row || !row->line)
		return NONE;
	struct tw_line_count key = {.source = row->source, .line = row->line};
	const struct tw_line_count *line = bsearch(&key, c->lines, c->n_lines, sizeof key, by_line);
	return line ? (uint32_t)(line - c->lines) : NONE;
}

/* ---- blocks ---- */

/* Where control came to, sorted. */
static uint64_t *list_targets(const struct tw_file_profile *p)
{
	uint64_t *targets = calloc(p->n_edges + 1, sizeof *targets);
	for (size_t i = 0; targets && i < p->n_edges; i++)
		targets[i] = p->edges[i].to;
	if (targets)
		qsort(targets, p->n_edges, sizeof *targets, tw_by_number);
	return targets;
}

static int ends_block(const struct tw_file_insn *insn)
{
	return insn->end != TW_END_FALL && insn->end != TW_END_UNKNOWN;
}

static int list_blocks(struct counts *c)
{
	const struct tw_file_profile *p = c->p;
	uint64_t *targets = list_targets(p);
	c->blocks = calloc(p->n_insns + 1, sizeof *c->blocks);
	c->visited = calloc(p->n_insns + 1, 1);
	if (!targets || !c->blocks || !c->visited) {
		free(targets);
		return 0;
	}
	for (size_t i = 0; i < p->n_insns; i++) {
		const struct tw_file_insn *insn = &p->insns[i], *before = i ? insn - 1 : NULL;
		int starts = !before || ends_block(before) || before->vaddr + before->length != insn->vaddr ||
		             bsearch(&insn->vaddr, targets, p->n_edges, sizeof *targets, tw_by_number);
		if (starts)
			c->blocks[c->n_blocks++] = (struct block){.first = insn->vaddr, .executions = insn->executions};
		c->blocks[c->n_blocks - 1].last = insn->vaddr;
		c->blocks[c->n_blocks - 1].end = insn->end;
	}
	free(targets);
	return 1;
}

/* The block that has an instruction. */
static uint32_t block_of(const struct counts *c, uint64_t vaddr)
{
	size_t n = tw_array_until(&vaddr, c->blocks, c->n_blocks, sizeof *c->blocks, tw_by_number);
	return n && vaddr <= c->blocks[n - 1].last ? (uint32_t)n - 1 : NONE;
}

/* Counts each block once for each of its lines, and notes the line on which it ends. 0: no memory. */
static int walk_blocks(struct counts *c)
{
	size_t insn = 0;
	uint32_t *seen = calloc(c->n_lines + 1, sizeof *seen); /* the block counted last, + 1 */
	for (uint32_t i = 0; seen && i < c->n_blocks; i++) {
		struct block *b = &c->blocks[i];
		b->line = NONE;
		for (; insn < c->p->n_insns && c->p->insns[insn].vaddr <= b->last; insn++) {
			uint32_t line = line_of(c, c->p->insns[insn].vaddr);
			if (line == NONE)
				continue;
			c->lines[line].count += seen[line] == i + 1 ? 0 : b->executions;
			seen[line] = i + 1;
			b->line = line;
		}
	}
	int ok = seen != NULL;
	free(seen);
	return ok;
}

/* ---- arcs ---- */

/* The block from which control came by an edge. Functions are entered and left from elsewhere. */
static uint32_t source_of(const struct counts *c, const struct tw_file_edge *e)
{
	int call = e->end == TW_END_CALL || e->end == TW_END_ICALL;
	return e->from == TW_OUTSIDE || e->end == TW_END_RETURN || (call && !e->fall) ? NONE : block_of(c, e->from);
}

static uint32_t target_line(const struct counts *c, const struct arc *a)
{
	return c->blocks[a->to].line;
}

/* Compares by the line on which the target ends. `sorting` holds the context, since qsort takes none. */
static _Thread_local const struct counts *sorting;

static int by_target_line(const void *a, const void *b)
{
	const struct arc *x = a, *y = b;
	uint32_t p = target_line(sorting, x), q = target_line(sorting, y);
	if (p != q)
		return p < q ? -1 : 1;
	return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

static int list_arcs(struct counts *c)
{
	c->arcs = calloc(c->p->n_edges + 1, sizeof *c->arcs);
	if (!c->arcs)
		return 0;
	for (size_t i = 0; i < c->p->n_edges; i++) {
		const struct tw_file_edge *e = &c->p->edges[i];
		uint32_t to = e->to == TW_OUTSIDE ? NONE : block_of(c, e->to);
		if (to != NONE && c->blocks[to].line != NONE)
			c->arcs[c->n_arcs++] = (struct arc){source_of(c, e), to, e->count};
	}
	sorting = c;
	qsort(c->arcs, c->n_arcs, sizeof *c->arcs, by_target_line);
	return 1;
}

/* ---- the rule ---- */

/* The arcs that lead to blocks of one line. */
struct line_arcs {
	struct arc *arcs;
	size_t n;
};

/* Follows arcs with a remaining count from `block` to `goal`. Returns the lowest remaining count on the path, and subtracts it. */
static uint64_t take_path(struct counts *c, const struct line_arcs *l, uint32_t block, uint32_t goal, uint64_t least)
{
	c->visited[block] = 1;
	for (size_t i = 0; i < l->n; i++) {
		struct arc *a = &l->arcs[i];
		if (a->from != block || !a->count || (a->to != goal && c->visited[a->to]))
			continue;
		uint64_t way = a->count < least ? a->count : least;
		if (a->to != goal)
			way = take_path(c, l, a->to, goal, way);
		if (way) {
			a->count -= way;
			return way;
		}
	}
	return 0;
}

static void forget_visits(struct counts *c, const struct line_arcs *l)
{
	for (size_t i = 0; i < l->n; i++)
		c->visited[l->arcs[i].to] = 0;
}

/* What goes round in loops among the blocks of a line. */
static uint64_t count_loops(struct counts *c, const struct line_arcs *l)
{
	uint64_t n = 0;
	for (size_t i = 0; l->n > MAX_WAYS && i < l->n; i++)
		n += l->arcs[i].from == l->arcs[i].to ? l->arcs[i].count : 0;
	if (l->n > MAX_WAYS)
		return n;
	for (size_t i = 0; i < l->n;) {
		uint64_t round = l->arcs[i].count ? take_path(c, l, l->arcs[i].to, l->arcs[i].to, UINT64_MAX) : 0;
		forget_visits(c, l);
		n += round;
		i += !round;
	}
	return n;
}

static void count_line(struct counts *c, uint32_t line, struct line_arcs l)
{
	uint64_t entries = 0;
	size_t inner = 0;
	for (size_t i = 0; i < l.n; i++) {
		struct arc a = l.arcs[i];
		if (a.from == NONE || c->blocks[a.from].line != line)
			entries += a.count;
		else
			l.arcs[inner++] = a;
	}
	l.n = inner;
	c->lines[line].count = entries + count_loops(c, &l);
}

static void count_lines(struct counts *c)
{
	size_t end;
	for (size_t i = 0; i < c->n_arcs; i = end) {
		uint32_t line = target_line(c, &c->arcs[i]);
		for (end = i; end < c->n_arcs && target_line(c, &c->arcs[end]) == line; end++)
			;
		count_line(c, line, (struct line_arcs){c->arcs + i, end - i});
	}
}

int tw_line_counts(const struct tw_file_profile *p, const struct tw_line_table *t, struct tw_line_count **out, size_t *n)
{
	struct counts c = {.p = p, .t = t};
	int ok = list_lines(&c) && list_blocks(&c) && walk_blocks(&c) && list_arcs(&c);
	if (ok) {
		count_lines(&c);
		*out = c.lines;
		*n = c.n_lines;
	} else {
		free(c.lines);
	}
	free(c.blocks);
	free(c.arcs);
	free(c.visited);
	return ok ? 0 : tw_fail(TW_ERR_MEMORY, "lines");
}

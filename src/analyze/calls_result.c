/* Turns counts by piece into the costs of each instruction in each context. */
#include "analyze/calls_count.h"
#include "base/array.h"
#include "base/helper_thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/*
 * A source of costs for one function: a piece of a stretch; a block of a fragment; or costs charged to a calling
 * instruction. Sources are processed by function, so that what is added up stays in the caches, and only sums take
 * memory.
 */
struct source {
	const void *what; /* struct tw_piece_of_code; struct tw_called_fragment; struct tw_call */
	uint32_t function;
	uint32_t block;  /* of the fragment, or one of these */
	uint32_t n_most; /* it makes no more items */
};

enum { SOURCE_PIECE = UINT16_MAX + 1, SOURCE_CALL };

/* Functions processed one after another by one thread, and their results, with room for the maximum. */
struct part {
	uint32_t first, end;
	struct tw_call_insn *insns;
	size_t n_insns;
	struct tw_cost totals;
};

struct result {
	struct tw_calls *out;
	struct source *sources;
	size_t n_sources, sources_room;
	const struct source **parted; /* by function */
	size_t *end;                  /* of each function's */
	struct part *parts;
	size_t n_parts;
	_Atomic size_t next; /* part to be taken */
	_Atomic int error;
};

/* A thread's data for the current function. */
struct taker {
	struct result *result;
	struct part *part;
	struct tw_call_insn *insns, **sorted;
	size_t n_insns, insns_room, sorted_room;
	int error;
};

/* A fresh item for one instruction, NULL: no memory. */
static struct tw_call_insn *add_insn(struct taker *r, const struct tw_piece_of_code *p, unsigned level, uint64_t pc, uint64_t ran)
{
	struct tw_call_insn *insns = r->error ? NULL : tw_array_room(r->insns, r->n_insns, &r->insns_room, sizeof *insns);
	if (!insns) {
		r->error = TW_ERR_MEMORY;
		return NULL;
	}
	r->insns = insns;
	insns[r->n_insns] = (struct tw_call_insn){
	    .in = {p->lead ? p->owner : p->function, level},
	    .image = p->image,
	    .end = TW_END_FALL,
	    .pc = pc,
	    .cost = {.insns = ran},
	    .ran = ran,
	};
	return &insns[r->n_insns++];
}

static void add_ref(struct tw_cost *to, uint8_t type, uint64_t times)
{
	to->refs += times;
	to->reads += times * (type & TW_READ);
	to->writes += times * (type >> 1);
}

static void add_end(struct tw_call_insn *last, const struct tw_block *b, uint64_t ends, uint64_t taken)
{
	if (!ends)
		return;
	last->end = b->end;
	last->target = b->target;
	last->taken = taken;
	last->cost.conditional = b->end == TW_END_COND ? ends : 0;
	last->cost.indirect = b->end == TW_END_IJUMP || b->end == TW_END_ICALL ? ends : 0;
}

/* ---- stretches ---- */

/* References before the first block: they belong to the block that the piece follows. */
static void add_lead(struct taker *r, const struct tw_piece_of_code *p, unsigned level)
{
	const struct tw_stretch *s = p->stretch;
	const struct tw_block *b = tw_descriptor_blocks(p->descriptor) + p->last_block;
	const uint8_t *bytes = tw_descriptor_insn_bytes(p->descriptor);
	const uint32_t end = s->n_blocks ? s->blocks[0].first_ref : s->n_refs;
	for (uint32_t i = 0; i < end; i++) {
		uint64_t pc = b->pc;
		for (unsigned k = b->first_insn; k < s->refs[i].insn; k++)
			pc += bytes[k];
		struct tw_call_insn *insn = add_insn(r, p, level, pc, 0);
		if (insn)
			add_ref(&insn->cost, s->refs[i].type, p->runs[level]);
	}
}

static void add_block(struct taker *r, const struct tw_piece_of_code *p, unsigned level, uint32_t number)
{
	const struct tw_stretch *s = p->stretch;
	const struct tw_block_run *run = &s->blocks[number];
	const struct tw_block *b = tw_descriptor_blocks(run->descriptor) + run->block;
	const uint8_t *bytes = tw_descriptor_insn_bytes(run->descriptor) + b->first_insn;
	const uint32_t end = number + 1 < s->n_blocks ? run[1].first_ref : s->n_refs;
	const size_t first = r->n_insns;
	const uint64_t runs = p->runs[level];
	uint64_t pc = b->pc;
	for (unsigned i = 0; i < b->n_insns; pc += bytes[i++])
		if (!add_insn(r, p, level, pc, runs))
			return;
	struct tw_call_insn *insns = r->insns + first;
	for (uint32_t i = run->first_ref; i < end; i++)
		add_ref(&insns[s->refs[i].insn - b->first_insn].cost, s->refs[i].type, runs);
	const int is_last = number + 1 == p->first_block + p->n_blocks;
	const uint64_t taken = is_last ? p->taken[level] : run[1].pc == b->target ? runs : 0;
	add_end(&insns[b->n_insns - 1], b, runs, taken);
}

static void add_piece(struct taker *r, const struct tw_piece_of_code *p)
{
	for (unsigned level = 0; level < TW_CALLS_LEVELS; level++) {
		if (!p->runs[level])
			continue;
		if (p->lead)
			add_lead(r, p, level);
		for (uint32_t i = 0; i < p->n_blocks; i++)
			add_block(r, p, level, p->first_block + i);
	}
}

/* ---- fragments ---- */

/* `own`: of the block's instructions; NULL: nothing. */
static void add_own(struct taker *r, const struct tw_called_block *block, const struct tw_own *own, unsigned level)
{
	const struct tw_piece_of_code *p = &block->piece;
	const struct tw_block *b = tw_descriptor_blocks(p->descriptor) + p->last_block;
	const uint8_t *bytes = tw_descriptor_insn_bytes(p->descriptor) + b->first_insn;
	struct tw_call_insn *insn = NULL;
	uint64_t pc = b->pc;
	for (unsigned i = 0; own && i < b->n_insns; pc += bytes[i++]) {
		if (!own[i].ran && !own[i].refs)
			continue;
		insn = add_insn(r, p, level, pc, own[i].ran);
		if (!insn)
			return;
		insn->cost.refs = own[i].refs;
		insn->cost.reads = own[i].reads;
		insn->cost.writes = own[i].writes;
	}
	if (insn)
		add_end(insn, b, block->ends[level], p->taken[level]);
}

static void add_called_block(struct taker *r, const struct tw_called_fragment *f, uint32_t k)
{
	const struct tw_block *b = tw_descriptor_blocks(f->descriptor) + k;
	for (unsigned level = 0; f->block[k].piece.descriptor && level < TW_CALLS_LEVELS; level++)
		add_own(r, &f->block[k], f->own[level] ? f->own[level] + b->first_insn : NULL, level);
}

/* ---- calls ---- */

/* What is charged to the instruction that called. */
static void add_charge(struct taker *r, const struct tw_call *c)
{
	const struct tw_piece_of_code site = {.function = c->in.function, .image = c->image};
	struct tw_call_insn *insn = add_insn(r, &site, c->in.level, c->pc, 0);
	if (insn)
		insn->cost = c->cost;
}

/* ---- order ---- */

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_context(struct tw_context a, struct tw_context b)
{
	return a.function != b.function ? order(a.function, b.function) : order(a.level, b.level);
}

static int by_insn(const void *a, const void *b)
{
	const struct tw_call_insn *x = a, *y = b;
	int o = by_context(x->in, y->in);
	if (!o)
		o = order(x->image, y->image);
	return o ? o : order(x->pc, y->pc);
}

static int by_call(const void *a, const void *b)
{
	const struct tw_call *x = a, *y = b;
	int o = by_context(x->in, y->in);
	if (!o)
		o = order(x->image, y->image);
	if (!o)
		o = order(x->pc, y->pc);
	return o ? o : by_context(x->to, y->to);
}

static void join_insn(struct tw_call_insn *to, const struct tw_call_insn *more)
{
	tw_cost_add(&to->cost, &more->cost);
	to->ran += more->ran;
	to->taken += more->taken;
	if (to->end == TW_END_FALL) {
		to->end = more->end;
		to->target = more->target;
	}
}

static int by_insn_at(const void *a, const void *b)
{
	return by_insn(*(struct tw_call_insn *const *)a, *(struct tw_call_insn *const *)b);
}

/* ---- sources ---- */

void tw_piece_settle(struct tw_piece_of_code *p)
{
	for (unsigned level = 0; level < TW_CALLS_LEVELS; level++) {
		p->runs[level] += p->newly_run[level];
		p->taken[level] += p->newly_taken[level];
		p->newly_run[level] = p->newly_taken[level] = 0;
	}
}

static void add_source(struct result *r, const void *what, uint32_t function, uint32_t block, uint32_t n_most)
{
	struct source *sources = r->error ? NULL : tw_array_room(r->sources, r->n_sources, &r->sources_room, sizeof *sources);
	if (!sources) {
		r->error = TW_ERR_MEMORY;
		return;
	}
	r->sources = sources;
	sources[r->n_sources++] = (struct source){what, function, block, n_most};
}

/* A lead makes an item for each reference, other pieces one for each instruction; for each level. */
static void list_piece(struct result *r, struct tw_piece_of_code *p)
{
	tw_piece_settle(p);
	const uint32_t levels = (p->runs[0] != 0) + (p->runs[1] != 0);
	if (levels)
		add_source(r, p, p->lead ? p->owner : p->function, SOURCE_PIECE, levels * p->cost[p->lead ? 1 : 0]);
}

static int list_fragment(void *result, void *item)
{
	struct tw_called_fragment *f = item;
	const uint32_t levels = (f->own[0] != NULL) + (f->own[1] != NULL);
	for (unsigned k = 0; levels && k < f->descriptor->n_blocks; k++) {
		tw_piece_settle(&f->block[k].piece);
		add_source(result, f, f->block[k].piece.function, k, levels * tw_descriptor_blocks(f->descriptor)[k].n_insns);
	}
	return 0;
}

/* Splits the table into calls and costs charged to calling instructions. */
static void take_table(struct result *r, const struct tw_call_table *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct tw_call *c = &t->items[i];
		if (c->to.function != TW_CALL_NOWHERE)
			r->out->calls[r->out->n_calls++] = *c;
		else
			add_source(r, c, c->in.function, SOURCE_CALL, 1);
	}
}

static void list_sources(struct result *r, struct tw_counted *c, const struct tw_call_table *table)
{
	for (size_t i = 0; i < c->n_rows; i++)
		for (size_t k = 0; c->rows[i] && k < TW_PIECES_ROW; k++)
			for (struct tw_piece_of_code *p = &c->rows[i][k]; p && p->stretch; p = p->next)
				list_piece(r, p);
	tw_by_fragment_each(&c->fragments, list_fragment, r);
	for (size_t i = 0; i < c->n_retired; i++)
		list_piece(r, &c->retired[i]);
	take_table(r, table);
}

/* Functions that have numbers, which are small. */
static uint32_t count_functions(const struct result *r)
{
	uint32_t n = 0;
	for (size_t i = 0; i < r->n_sources; i++)
		if (r->sources[i].function < TW_CALLS_NOTHING && r->sources[i].function >= n)
			n = r->sources[i].function + 1;
	return n;
}

static uint32_t function_of(const struct source *s, uint32_t n_functions)
{
	return s->function < n_functions ? s->function : n_functions;
}

/* Sorts pointers to the sources by function; end[] then has the end of each function's. */
static void part_sources(const struct result *r, uint32_t n_functions, const struct source **parted, size_t *end)
{
	size_t before = 0;
	for (size_t i = 0; i < r->n_sources; i++)
		end[function_of(&r->sources[i], n_functions)]++;
	for (uint32_t f = 0; f <= n_functions; f++) {
		const size_t n = end[f];
		end[f] = before;
		before += n;
	}
	for (size_t i = 0; i < r->n_sources; i++)
		parted[end[function_of(&r->sources[i], n_functions)]++] = &r->sources[i];
}

static void take_source(struct taker *t, const struct source *s)
{
	if (s->block == SOURCE_PIECE)
		add_piece(t, s->what);
	else if (s->block == SOURCE_CALL)
		add_charge(t, s->what);
	else
		add_called_block(t, s->what, s->block);
}

static int make_sorted(struct taker *t)
{
	struct tw_call_insn **sorted = tw_array_room(t->sorted, t->n_insns, &t->sorted_room, sizeof(struct tw_call_insn *));
	t->sorted = sorted ? sorted : t->sorted;
	return sorted != NULL;
}

/* Adds the function's data to the part, sorted, with one item for each instruction in one context: items came from different pieces. */
static void join_insns(struct taker *t)
{
	struct part *part = t->part;
	const size_t first = part->n_insns;
	if (t->error || !make_sorted(t)) {
		t->error = TW_ERR_MEMORY;
		return;
	}
	for (size_t i = 0; i < t->n_insns; i++) {
		t->sorted[i] = &t->insns[i];
		tw_cost_add(&part->totals, &t->insns[i].cost);
	}
	if (t->n_insns)
		qsort(t->sorted, t->n_insns, sizeof *t->sorted, by_insn_at);
	for (size_t i = 0; i < t->n_insns; i++) {
		if (part->n_insns > first && !by_insn(&part->insns[part->n_insns - 1], t->sorted[i])) {
			join_insn(&part->insns[part->n_insns - 1], t->sorted[i]);
			continue;
		}
		part->insns[part->n_insns++] = *t->sorted[i];
	}
	t->n_insns = 0;
}

/* All sources of the functions of a part. */
static void take_part(struct taker *t)
{
	const struct result *r = t->result;
	size_t i = t->part->first ? r->end[t->part->first - 1] : 0;
	for (uint32_t f = t->part->first; f < t->part->end && !t->error; f++) {
		while (i < r->end[f])
			take_source(t, r->parted[i++]);
		join_insns(t);
	}
}

static void *take_parts(void *result)
{
	struct result *r = result;
	struct taker t = {.result = r};
	for (size_t i; !t.error && (i = atomic_fetch_add(&r->next, 1)) < r->n_parts;) {
		t.part = &r->parts[i];
		take_part(&t);
	}
	if (t.error)
		r->error = t.error;
	free(t.insns);
	free(t.sorted);
	return NULL;
}

static void run_takers(struct result *r, unsigned jobs)
{
	enum { MOST = 64 };
	pthread_t threads[MOST];
	unsigned n = 0;
	while (n + 1 < jobs && n < MOST && n + 1 < r->n_parts && tw_helper_thread_start(&threads[n], take_parts, r))
		n++;
	take_parts(r);
	while (n--)
		pthread_join(threads[n], NULL);
}

/* Makes parts: sequences of functions with about equal numbers of sources. 0: no memory. */
static int make_parts(struct result *r, uint32_t n_functions, unsigned jobs)
{
	enum { FOR_EACH = 4 };
	const size_t most = jobs > 1 ? (size_t)jobs * FOR_EACH : 1;
	r->parts = calloc(most, sizeof *r->parts);
	for (uint32_t f = 0; r->parts && f < n_functions;) {
		struct part *part = &r->parts[r->n_parts++];
		part->first = f++;
		while (f < n_functions && (r->n_parts == most || r->end[f - 1] < r->n_parts * r->n_sources / most))
			f++;
		part->end = f;
	}
	return r->parts != NULL;
}

/*
 * One array for all parts; each part begins where those before it end at the latest. Pages that are not written take
 * no memory. 0: no memory.
 */
static int make_room(struct result *r)
{
	size_t n = 0, i = 0;
	for (size_t k = 0; k < r->n_sources; k++)
		n += r->sources[k].n_most;
	r->out->insns = tw_array_table(n + 1, sizeof *r->out->insns);
	n = 0;
	for (size_t p = 0; r->out->insns && p < r->n_parts; p++) {
		r->parts[p].insns = r->out->insns + n;
		while (i < r->end[r->parts[p].end - 1])
			n += r->parted[i++]->n_most;
	}
	return r->out->insns != NULL;
}

/* Moves them together. */
static void join_parts(struct result *r)
{
	struct tw_calls *out = r->out;
	for (size_t i = 0; i < r->n_parts; i++) {
		const struct part *part = &r->parts[i];
		memmove(out->insns + out->n_insns, part->insns, part->n_insns * sizeof *out->insns);
		out->n_insns += part->n_insns;
		tw_cost_add(&out->totals, &part->totals);
	}
	struct tw_call_insn *insns = realloc(out->insns, (out->n_insns + 1) * sizeof *insns);
	out->insns = insns ? insns : out->insns;
}

/* Takes all sources, function by function. */
static int take_sources(struct result *r, unsigned jobs)
{
	const uint32_t n_functions = count_functions(r);
	int error = r->error;
	r->end = calloc((size_t)n_functions + 1, sizeof *r->end);
	r->parted = malloc((r->n_sources + 1) * sizeof *r->parted);
	if (r->end && r->parted)
		part_sources(r, n_functions, r->parted, r->end);
	else
		error = TW_ERR_MEMORY;
	if (!error && (!make_parts(r, n_functions + 1, jobs) || !make_room(r)))
		error = TW_ERR_MEMORY;
	if (!error) {
		run_takers(r, jobs);
		join_parts(r);
		error = r->error;
	}
	free(r->parts);
	free(r->end);
	free(r->parted);
	return error;
}

static int settle_fragment(void *unused, void *item)
{
	struct tw_called_fragment *f = item;
	(void)unused;
	for (unsigned k = 0; k < f->descriptor->n_blocks; k++)
		tw_piece_settle(&f->block[k].piece);
	return 0;
}

void tw_counted_settle(struct tw_counted *c)
{
	for (size_t i = 0; i < c->n_rows; i++)
		for (size_t k = 0; c->rows[i] && k < TW_PIECES_ROW; k++)
			for (struct tw_piece_of_code *p = &c->rows[i][k]; p && p->stretch; p = p->next)
				tw_piece_settle(p);
	tw_by_fragment_each(&c->fragments, settle_fragment, NULL);
}

int tw_calls_result(struct tw_counted *c, const struct tw_call_table *table, unsigned jobs, struct tw_calls *out)
{
	struct result r = {.out = out};
	out->calls = malloc((table->n + 1) * sizeof *out->calls);
	if (!out->calls)
		return TW_ERR_MEMORY;
	list_sources(&r, c, table);
	const int error = take_sources(&r, jobs);
	free(r.sources);
	if (out->n_calls)
		qsort(out->calls, out->n_calls, sizeof *out->calls, by_call);
	return error;
}

/* ---- memory ---- */

static void free_fragment(void *item)
{
	struct tw_called_fragment *f = item;
	for (int level = 0; level < TW_CALLS_COUNTERS; level++)
		free(f->own[level]);
}

static void free_row(struct tw_piece_of_code *row)
{
	for (size_t k = 0; row && k < TW_PIECES_ROW; k++)
		for (struct tw_piece_of_code *next, *p = row[k].next; p; p = next) {
			next = p->next;
			free(p);
		}
	free(row);
}

void tw_counted_free(struct tw_counted *c)
{
	tw_by_fragment_free(&c->fragments, free_fragment);
	tw_slab_free(c->slabs);
	for (size_t i = 0; i < c->n_rows; i++)
		free_row(c->rows[i]);
	free(c->rows);
	free(c->retired);
	memset(c, 0, sizeof *c);
}

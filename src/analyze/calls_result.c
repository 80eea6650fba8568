/* From what was counted by piece to what each instruction cost in each context. */
#include "analyze/calls_count.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct result {
	struct tw_calls *out;
	size_t room;
	int error;
};

/* A fresh item for one instruction, NULL: no memory. */
static struct tw_call_insn *add_insn(struct result *r, const struct tw_piece_of_code *p, unsigned level, uint64_t pc, uint64_t ran)
{
	struct tw_calls *out = r->out;
	struct tw_call_insn *insns = r->error ? NULL : tw_array_room(out->insns, out->n_insns, &r->room, sizeof *insns);
	if (!insns) {
		r->error = TW_ERR_MEMORY;
		return NULL;
	}
	out->insns = insns;
	insns[out->n_insns] = (struct tw_call_insn){
	    .in = {p->lead ? p->owner : p->function, level},
	    .image = p->image,
	    .end = TW_END_FALL,
	    .pc = pc,
	    .cost = {.insns = ran},
	    .ran = ran,
	};
	return &insns[out->n_insns++];
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

/* References before the first block: of instructions of the block that its piece comes after. */
static void add_lead(struct result *r, const struct tw_piece_of_code *p, unsigned level)
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

static void add_block(struct result *r, const struct tw_piece_of_code *p, unsigned level, uint32_t number)
{
	const struct tw_stretch *s = p->stretch;
	const struct tw_block_run *run = &s->blocks[number];
	const struct tw_block *b = tw_descriptor_blocks(run->descriptor) + run->block;
	const uint8_t *bytes = tw_descriptor_insn_bytes(run->descriptor) + b->first_insn;
	const uint32_t end = number + 1 < s->n_blocks ? run[1].first_ref : s->n_refs;
	const size_t first = r->out->n_insns;
	const uint64_t runs = p->runs[level];
	uint64_t pc = b->pc;
	for (unsigned i = 0; i < b->n_insns; pc += bytes[i++])
		if (!add_insn(r, p, level, pc, runs))
			return;
	struct tw_call_insn *insns = r->out->insns + first;
	for (uint32_t i = run->first_ref; i < end; i++)
		add_ref(&insns[s->refs[i].insn - b->first_insn].cost, s->refs[i].type, runs);
	const int is_last = number + 1 == p->first_block + p->n_blocks;
	const uint64_t taken = is_last ? p->taken[level] : run[1].pc == b->target ? runs : 0;
	add_end(&insns[b->n_insns - 1], b, runs, taken);
}

static void add_piece(struct result *r, const struct tw_piece_of_code *p)
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

static void add_pieces(struct result *r, const struct tw_counted *c)
{
	for (size_t i = 0; i < c->n_rows; i++)
		for (size_t k = 0; c->rows[i] && k < TW_PIECES_ROW; k++)
			for (const struct tw_piece_of_code *p = &c->rows[i][k]; p && p->stretch; p = p->next)
				add_piece(r, p);
}

/* ---- fragments ---- */

/* `own`: of the block's instructions; NULL: nothing. */
static void add_own(struct result *r, const struct tw_called_block *block, const struct tw_own *own, unsigned level)
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

static int add_fragment(void *result, void *item)
{
	const struct tw_called_fragment *f = item;
	for (unsigned k = 0; k < f->descriptor->n_blocks; k++)
		for (unsigned level = 0; f->block[k].piece.descriptor && level < TW_CALLS_LEVELS; level++) {
			const struct tw_block *b = tw_descriptor_blocks(f->descriptor) + k;
			add_own(result, &f->block[k], f->own[level] ? f->own[level] + b->first_insn : NULL, level);
		}
	return 0;
}

static void add_retired(struct result *r, const struct tw_counted *c)
{
	for (size_t i = 0; i < c->n_retired; i++)
		add_piece(r, &c->retired[i]);
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

/* Functions that have numbers, which are small. */
static uint32_t count_functions(const struct tw_calls *c)
{
	uint32_t n = 0;
	for (size_t i = 0; i < c->n_insns; i++)
		if (c->insns[i].in.function < TW_CALLS_NOTHING && c->insns[i].in.function >= n)
			n = c->insns[i].in.function + 1;
	return n;
}

static uint32_t function_of(const struct tw_call_insn *insn, uint32_t n_functions)
{
	return insn->in.function < n_functions ? insn->in.function : n_functions;
}

/* Puts where each instruction stands in order by function; end[] is where those of each function end, afterwards. */
static void part_insns(struct tw_calls *c, uint32_t n_functions, struct tw_call_insn **sorted, size_t *end)
{
	size_t before = 0;
	for (size_t i = 0; i < c->n_insns; i++)
		end[function_of(&c->insns[i], n_functions)]++;
	for (uint32_t f = 0; f <= n_functions; f++) {
		const size_t n = end[f];
		end[f] = before;
		before += n;
	}
	for (size_t i = 0; i < c->n_insns; i++)
		sorted[end[function_of(&c->insns[i], n_functions)]++] = &c->insns[i];
}

/* Where each instruction stands, in order. Those of one function are few, so that what is compared lies in the caches. NULL: no memory. */
static struct tw_call_insn **sort_insns(struct tw_calls *c)
{
	const uint32_t n_functions = count_functions(c);
	size_t *end = calloc((size_t)n_functions + 1, sizeof *end), first = 0;
	struct tw_call_insn **sorted = tw_array_table(c->n_insns + 1, sizeof(struct tw_call_insn *));
	if (end && sorted) {
		part_insns(c, n_functions, sorted, end);
		for (uint32_t f = 0; f <= n_functions; first = end[f++])
			if (end[f] > first)
				qsort(sorted + first, end[f] - first, sizeof *sorted, by_insn_at);
	}
	const int ok = end && sorted;
	free(end);
	if (ok)
		return sorted;
	free(sorted);
	return NULL;
}

/* Sorts them, and makes one of items for the same instruction in the same context: they came from different pieces. 0 or TW_ERR_MEMORY. */
static int join_insns(struct tw_calls *out)
{
	struct tw_call_insn **sorted = sort_insns(out), *joined = tw_array_table(out->n_insns + 1, sizeof *joined);
	size_t n = 0;
	for (size_t i = 0; sorted && joined && i < out->n_insns; i++) {
		if (n && !by_insn(&joined[n - 1], sorted[i]))
			join_insn(&joined[n - 1], sorted[i]);
		else
			joined[n++] = *sorted[i];
	}
	const int ok = sorted && joined;
	free(sorted);
	if (!ok) {
		free(joined);
		return TW_ERR_MEMORY;
	}
	free(out->insns);
	out->insns = joined;
	out->n_insns = n;
	return 0;
}

/* Splits the table into calls and what is charged to the instructions that called. */
static void take_table(struct result *r, const struct tw_call_table *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct tw_call *c = &t->items[i];
		if (c->to.function != TW_CALL_NOWHERE) {
			r->out->calls[r->out->n_calls++] = *c;
			continue;
		}
		const struct tw_piece_of_code site = {.function = c->in.function, .image = c->image};
		struct tw_call_insn *insn = add_insn(r, &site, c->in.level, c->pc, 0);
		if (insn)
			insn->cost = c->cost;
	}
}

void tw_piece_settle(struct tw_piece_of_code *p)
{
	for (unsigned level = 0; level < TW_CALLS_LEVELS; level++) {
		p->runs[level] += p->newly_run[level];
		p->taken[level] += p->newly_taken[level];
		p->newly_run[level] = p->newly_taken[level] = 0;
	}
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

/* How many items a piece will have. */
static size_t count_piece(const struct tw_piece_of_code *p)
{
	size_t n = 0;
	for (uint32_t i = 0; i < p->n_blocks; i++)
		n += p->stretch->blocks[p->first_block + i].n_insns;
	if (p->lead)
		n = p->stretch->n_blocks ? p->stretch->blocks[0].first_ref : p->stretch->n_refs;
	return n * ((p->runs[0] != 0) + (p->runs[1] != 0));
}

/* Room for the items of all stretches: the array is large, and grows for others only. */
static void make_room(struct result *r, const struct tw_counted *c)
{
	size_t n = 1;
	for (size_t i = 0; i < c->n_rows; i++)
		for (size_t k = 0; c->rows[i] && k < TW_PIECES_ROW; k++)
			for (const struct tw_piece_of_code *p = &c->rows[i][k]; p && p->stretch; p = p->next)
				n += count_piece(p);
	r->out->insns = tw_array_table(n, sizeof *r->out->insns);
	r->room = r->out->insns ? n : 0;
}

int tw_calls_result(struct tw_counted *c, const struct tw_call_table *table, struct tw_calls *out)
{
	struct result r = {.out = out};
	out->calls = malloc((table->n + 1) * sizeof *out->calls);
	if (!out->calls)
		return TW_ERR_MEMORY;
	tw_counted_settle(c);
	make_room(&r, c);
	add_pieces(&r, c);
	tw_by_fragment_each(&c->fragments, add_fragment, &r);
	add_retired(&r, c);
	take_table(&r, table);
	r.error = r.error ? r.error : join_insns(out);
	if (out->n_calls)
		qsort(out->calls, out->n_calls, sizeof *out->calls, by_call);
	for (size_t i = 0; i < out->n_insns; i++)
		tw_cost_add(&out->totals, &out->insns[i].cost);
	return r.error;
}

/* ---- memory ---- */

static void free_fragment(void *item)
{
	struct tw_called_fragment *f = item;
	for (int level = 0; level < TW_CALLS_COUNTERS; level++)
		free(f->own[level]);
	free(f);
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
	for (size_t i = 0; i < c->n_rows; i++)
		free_row(c->rows[i]);
	free(c->rows);
	free(c->retired);
	memset(c, 0, sizeof *c);
}

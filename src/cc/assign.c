#include "cc/assign.h"
#include "cc/calls.h"

#include <stdlib.h>

/* In order of preference: the register that has the pointer between functions, then caller-saved registers that are seldom arguments. */
static const uint8_t preference[] = {TW_CC_BOUNDARY, TW_R10, TW_R9,  TW_R8,  TW_RCX, TW_RSI, TW_RDI, TW_RDX,
                                     TW_RAX,         TW_RBX, TW_RBP, TW_R12, TW_R13, TW_R14, TW_R15};

/* `wanted`: a register that is taken if it is among them. */
static uint8_t first_of(uint16_t set, uint8_t wanted)
{
	if (wanted != TW_NOREG && set >> wanted & 1)
		return wanted;
	for (size_t k = 0; k < sizeof preference; k++)
		if (set >> preference[k] & 1)
			return preference[k];
	return TW_NOREG;
}

/* Gives one register to those of the blocks [from, to) that have none yet, if it is free in all of them. */
static int give(const struct tw_cc_flow *f, struct tw_cc_buffer *all, uint32_t from, uint32_t to, uint8_t wanted)
{
	uint16_t free_everywhere = 0xffff;
	for (uint32_t n = from; n < to; n++)
		if (all[n].reg == TW_NOREG)
			free_everywhere &= f->block[n].free;
	const uint8_t reg = first_of(free_everywhere, wanted);
	for (uint32_t n = from; reg != TW_NOREG && n < to; n++)
		if (all[n].reg == TW_NOREG)
			all[n].reg = reg;
	return reg != TW_NOREG;
}

static uint32_t function_at(const struct tw_cc_flow *f, uint32_t n)
{
	return f->code->insn[f->block[n].first].function;
}

struct span {
	uint32_t from, to;
};

static int by_size(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	const uint32_t i = x->to - x->from, j = y->to - y->from;
	return i < j ? 1 : i > j ? -1 : 0;
}

/* Loops among blocks [from, to), the largest first. Returns how many. */
static uint32_t find_loops(const struct tw_cc_flow *f, uint32_t from, uint32_t to, struct span *loops)
{
	uint32_t n_loops = 0;
	for (uint32_t n = from; n < to; n++) {
		const struct tw_cc_block_info *b = &f->block[n];
		const int32_t next[] = {b->fall, b->target};
		for (int k = 0; k < 2; k++)
			if (next[k] >= (int32_t)from && next[k] <= (int32_t)n)
				loops[n_loops++] = (struct span){(uint32_t)next[k], n + 1};
	}
	qsort(loops, n_loops, sizeof *loops, by_size);
	return n_loops;
}

/* A register that the block does not name. rbp, which may be the frame pointer, only if there is no other. */
static uint8_t to_borrow(const struct tw_cc_block_info *b)
{
	const uint16_t not_named = (uint16_t) ~(b->touch | 1u << TW_RSP);
	const uint8_t reg = first_of((uint16_t)(not_named & ~(1u << TW_RBP)), TW_NOREG);
	return reg != TW_NOREG ? reg : first_of(not_named, TW_NOREG);
}

/* Gives runs of blocks a common register. A block without a free register borrows one. */
static void give_runs(const struct tw_cc_flow *f, struct tw_cc_buffer *all, uint32_t from, uint32_t to, uint8_t wanted)
{
	for (uint32_t n = from; n < to; n++) {
		uint16_t common = f->block[n].free;
		if (all[n].reg != TW_NOREG)
			continue;
		if (!common) {
			all[n].reg = to_borrow(&f->block[n]);
			all[n].borrows = 1;
			continue;
		}
		if (n > from && common >> all[n - 1].reg & 1 && !all[n - 1].borrows) {
			all[n].reg = all[n - 1].reg;
			continue;
		}
		for (uint32_t k = n + 1; k < to && all[k].reg == TW_NOREG && common & f->block[k].free; k++)
			common &= f->block[k].free;
		all[n].reg = first_of(common, wanted);
	}
}

/* The targets of indirect jumps find the pointer in a register if all of them share one. TW_NOREG: they do not. */
static uint8_t give_dispatch(const struct tw_cc_flow *f, struct tw_cc_buffer *all, uint32_t from, uint32_t to)
{
	uint16_t common = 0xffff;
	int any = 0;
	for (uint32_t n = from; n < to; n++)
		if (f->block[n].end == TW_END_IJUMP || tw_cc_is_dispatched(f, &f->block[n])) {
			common &= f->block[n].free;
			any = 1;
		}
	const uint8_t reg = any ? first_of(common, TW_NOREG) : TW_NOREG;
	for (uint32_t n = from; reg != TW_NOREG && n < to; n++)
		if (f->block[n].end == TW_END_IJUMP || tw_cc_is_dispatched(f, &f->block[n]))
			all[n].reg = reg;
	return reg;
}

static void assign_function(const struct tw_cc_flow *f, struct tw_cc_buffer *all, uint32_t from, uint32_t to, struct span *loops)
{
	if (give(f, all, from, to, TW_NOREG))
		return;
	const uint8_t wanted = give_dispatch(f, all, from, to);
	const uint32_t n = find_loops(f, from, to, loops);
	for (uint32_t k = 0; k < n; k++)
		give(f, all, loops[k].from, loops[k].to, wanted);
	give_runs(f, all, from, to, wanted);
}

/* By function: the register that has the pointer in all indirect jumps and at all their targets, or TW_NOREG. NULL: no memory. */
static uint8_t *find_dispatch(const struct tw_cc_flow *f, const struct tw_cc_buffer *all)
{
	enum { NOT_SEEN = 0xfe };
	uint8_t *reg = malloc(f->code->n_functions + 1);
	for (uint32_t k = 0; reg && k < f->code->n_functions; k++)
		reg[k] = NOT_SEEN;
	for (uint32_t n = 0; reg && n < f->n_blocks; n++) {
		uint8_t *own = &reg[function_at(f, n)];
		if (f->block[n].end != TW_END_IJUMP && !tw_cc_is_dispatched(f, &f->block[n]))
			continue;
		if (*own == NOT_SEEN)
			*own = all[n].reg;
		if (all[n].reg != *own || all[n].borrows)
			*own = TW_NOREG;
	}
	return reg;
}

/* ---- how it gets there ---- */

static int ends_outside(const struct tw_cc_block_info *b)
{
	return b->leaves || tw_cc_is_call(b) || b->end == TW_END_RETURN || b->end == TW_END_IJUMP || b->end == TW_END_TRAP;
}

/* Sets what a block does at its end if it leaves its function, or if a call in it returns. */
static void set_end(const struct tw_cc_flow *f, const struct tw_cc_block_info *b, struct tw_cc_buffer *own)
{
	const int is_return = b->end == TW_END_RETURN;
	own->hands = (uint8_t)tw_cc_hands(f, b);
	const struct tw_cc_callee *to = tw_cc_callee_of(f, b);
	own->stores = (uint8_t)(ends_outside(b) && !(to && to->is_private) && !(is_return && own->hands && !tw_cc_stores_at_return(f, b)));
	if (tw_cc_is_call(b))
		own->whence_behind = tw_cc_comes_back(f, b) ? TW_CC_TAKES : own->hands ? TW_CC_VERIFIES : TW_CC_LOADS;
}

/* What leads there, but for branches that are seen. */
static uint8_t whence_of(const struct tw_cc_flow *f, const struct tw_cc_block_info *b, uint8_t dispatch)
{
	if (!b->entry || (tw_cc_is_dispatched(f, b) && dispatch < TW_NREGS))
		return TW_CC_FINDS;
	if (b->entry & ~(TW_CC_ENTRY_FUNCTION | TW_CC_ENTRY_TAKEN) || b->live_in >> TW_CC_BOUNDARY & 1)
		return TW_CC_LOADS;
	return f->function[f->code->insn[b->first].function].is_private ? TW_CC_TAKES : TW_CC_VERIFIES;
}

struct edge {
	const struct tw_cc_flow *flow;
	struct tw_cc_buffer *all;
	uint32_t *leading; /* how many blocks lead to each */
	uint8_t *dispatch; /* registers, by function */
	uint32_t from;
};

/* Behind a call it is moved to wherever it is wanted. */
static void find_load(void *arg, uint32_t to)
{
	struct edge *e = arg;
	const struct tw_cc_buffer *p = &e->all[e->from];
	struct tw_cc_buffer *s = &e->all[to];
	e->leading[to]++;
	if (s->borrows || p->whence_behind == TW_CC_LOADS ||
	    (!tw_cc_is_call(&e->flow->block[e->from]) && (p->reg != s->reg || p->borrows || s->whence != TW_CC_FINDS)))
		s->whence = TW_CC_LOADS;
}

static void find_store(void *arg, uint32_t to)
{
	struct edge *e = arg;
	struct tw_cc_buffer *b = &e->all[e->from];
	const struct tw_cc_buffer *s = &e->all[to];
	const int loads = s->whence == TW_CC_LOADS;
	if (tw_cc_is_call(&e->flow->block[e->from]))
		b->stores_behind |= (uint8_t)loads;
	else
		b->stores |= (uint8_t)loads;
}

static void connect(struct edge *e)
{
	const struct tw_cc_flow *f = e->flow;
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		const struct tw_cc_block_info *b = &f->block[n];
		set_end(f, b, &e->all[n]);
		e->all[n].whence = whence_of(f, b, e->dispatch[function_at(f, n)]);
	}
	for (e->from = 0; e->from < f->n_blocks; e->from++)
		tw_cc_flow_each(f, e->from, find_load, e);
	for (e->from = 0; e->from < f->n_blocks; e->from++) {
		struct tw_cc_buffer *b = &e->all[e->from];
		b->stores |= (uint8_t)(b->borrows && !ends_outside(&f->block[e->from]));
		tw_cc_flow_each(f, e->from, find_store, e);
	}
}

/* ---- where records begin ---- */

/* Sets of blocks: all successors of one block are entered with the same distance between pointer and records. */
struct offsets {
	const struct tw_cc_flow *flow;
	struct tw_cc_buffer *all;
	const uint32_t *leading;
	const uint16_t *bytes;
	uint32_t *set;   /* by block: another one of its set, or itself */
	int32_t *of_set; /* by representative of a set: where records of the set begin, or UNKNOWN */
};

enum { UNKNOWN = -1, FARTHEST = 64 };

static uint32_t set_of(const struct offsets *o, uint32_t n)
{
	while (o->set[n] != n)
		n = o->set[n] = o->set[o->set[n]];
	return n;
}

/* Is the pointer past all records where block n ends? */
static int ends_exactly(const struct offsets *o, uint32_t n)
{
	return o->all[n].borrows || o->all[n].stores || ends_outside(&o->flow->block[n]);
}

/* And where it begins? */
static int begins_exactly(const struct offsets *o, uint32_t n)
{
	const struct tw_cc_block_info *b = &o->flow->block[n];
	return o->all[n].whence != TW_CC_FINDS || o->all[n].borrows || b->check || b->entry || b->returns_here || !o->leading[n];
}

static void make_sets(const struct offsets *o)
{
	for (uint32_t n = 0; n < o->flow->n_blocks; n++) {
		o->set[n] = n;
		o->of_set[n] = UNKNOWN;
	}
	for (uint32_t n = 0; n < o->flow->n_blocks; n++) {
		const struct tw_cc_block_info *b = &o->flow->block[n];
		if (b->fall >= 0 && b->target >= 0)
			o->set[set_of(o, (uint32_t)b->fall)] = set_of(o, (uint32_t)b->target);
	}
	for (uint32_t n = 0; n < o->flow->n_blocks; n++) {
		const struct tw_cc_block_info *b = &o->flow->block[n];
		const int32_t next[] = {b->fall, b->target};
		if (begins_exactly(o, n))
			o->of_set[set_of(o, n)] = 0;
		for (int k = 0; k < 2; k++)
			if (next[k] >= 0 && (ends_exactly(o, n) || tw_cc_goes_back(o->flow, n, (uint32_t)next[k])))
				o->of_set[set_of(o, (uint32_t)next[k])] = 0;
	}
}

/* The first block in order that leads to a set decides; it comes before all blocks of the set. */
static void set_offset(const struct offsets *o, uint32_t n)
{
	const struct tw_cc_block_info *b = &o->flow->block[n];
	const int32_t next = b->fall >= 0 ? b->fall : b->target;
	struct tw_cc_buffer *own = &o->all[n];
	own->offset = (uint32_t)o->of_set[set_of(o, n)];
	own->adds = (int32_t)(own->offset + o->bytes[n]);
	if (next < 0 || ends_exactly(o, n))
		return;
	int32_t *ahead = &o->of_set[set_of(o, (uint32_t)next)];
	if (*ahead == UNKNOWN)
		*ahead = own->adds <= FARTHEST ? own->adds : 0;
	own->adds -= *ahead;
}

/* -1: there is no memory. */
static int set_offsets(const struct edge *e, const uint16_t *bytes)
{
	struct offsets o = {.flow = e->flow, .all = e->all, .leading = e->leading, .bytes = bytes};
	o.set = calloc(e->flow->n_blocks + 1, sizeof *o.set);
	o.of_set = calloc(e->flow->n_blocks + 1, sizeof *o.of_set);
	const int is_there = o.set && o.of_set;
	if (is_there)
		make_sets(&o);
	for (uint32_t n = 0; is_there && n < e->flow->n_blocks; n++)
		set_offset(&o, e->flow->order[n]);
	free(o.set);
	free(o.of_set);
	return is_there ? 0 : -1;
}

struct tw_cc_buffer *tw_cc_assign(const struct tw_cc_flow *f, const uint16_t *bytes)
{
	struct tw_cc_buffer *all = calloc(f->n_blocks + 1, sizeof *all);
	struct span *loops = calloc(2 * f->n_blocks + 1, sizeof *loops);
	struct edge e = {.flow = f, .all = all, .leading = calloc(f->n_blocks + 1, sizeof *e.leading)};
	const int is_there = all && loops && e.leading;
	for (uint32_t n = 0; is_there && n < f->n_blocks; n++)
		all[n].reg = TW_NOREG;
	for (uint32_t n = 0, end; is_there && n < f->n_blocks; n = end) {
		for (end = n; end < f->n_blocks && function_at(f, end) == function_at(f, n);)
			end++;
		assign_function(f, all, n, end, loops);
	}
	e.dispatch = is_there ? find_dispatch(f, all) : NULL;
	if (e.dispatch)
		connect(&e);
	const int is_done = e.dispatch && !set_offsets(&e, bytes);
	free(loops);
	free(e.dispatch);
	free(e.leading);
	if (is_done)
		return all;
	free(all);
	return NULL;
}

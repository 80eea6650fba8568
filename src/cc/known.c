#include "cc/plan.h"

#include <stdlib.h>

static const struct tw_cc_callee *function_of(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	return &f->function[f->code->insn[b->first].function];
}

static int is_private_entry(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	return b->entry == TW_CC_ENTRY_FUNCTION && function_of(f, b)->is_private;
}

/* Does something lead there that is not seen? */
static int starts_unknown(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	return b->entry && !tw_cc_is_dispatched(f, b) && !is_private_entry(f, b);
}

/*
 * Registers known before call b that are still known behind it although nothing is known of the callee: those that
 * the ABI has it preserve, unless it runs instrumented code, which would show in the recording. Not rsp: the
 * recording has the call, and no return.
 */
static uint16_t kept_behind(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	enum { KEPT = 1 << TW_RBX | 1 << TW_RBP | 1 << TW_R12 | 1 << TW_R13 | 1 << TW_R14 | 1 << TW_R15 };
	const struct tw_cc_insn *last = tw_cc_last(f, b);
	return last->computes && last->branch < 0 && !f->by_hand ? (uint16_t)KEPT : 0;
}

struct meeting {
	struct tw_cc_known *known;
	const struct tw_cc_flow *flow;
	uint16_t out;
	int changed;
};

static void meet(void *arg, uint32_t to)
{
	struct meeting *m = arg;
	struct tw_cc_known *k = &m->known[to];
	const uint16_t in = k->in & m->out;
	if (starts_unknown(m->flow, &m->flow->block[to]) || in == k->in)
		return;
	k->in = in;
	m->changed = 1;
}

/*
 * What is known where call n returns to: what is known at all of the callee's returns, and what was known before and
 * is not changed by it or its callees. A callee's entry knows what all its calls know. `returns`: known at all
 * returns, by function.
 */
static uint16_t meet_call(struct meeting *m, const uint16_t *returns, uint32_t n)
{
	const struct tw_cc_block_info *b = &m->flow->block[n];
	const struct tw_cc_callee *to = tw_cc_callee_of(m->flow, b);
	if (!to)
		return m->out & kept_behind(m->flow, b);
	meet(m, (uint32_t)to->entry);
	return to->returns ? returns[b->callee] | (m->out & (uint16_t)~to->changes) : 0;
}

static void meet_return(struct meeting *m, uint16_t *returns, uint32_t n)
{
	uint16_t *own = &returns[m->flow->code->insn[m->flow->block[n].first].function];
	if (m->flow->block[n].end != TW_END_RETURN || !(*own & ~m->out))
		return;
	*own &= m->out;
	m->changed = 1;
}

/* Indirect jumps may lead to all dispatch targets of their function. `hub`: what is known at the end of all of them, by function. */
static void meet_hub(struct meeting *m, uint16_t *hub, uint32_t n)
{
	const struct tw_cc_flow *f = m->flow;
	uint16_t *own = &hub[f->code->insn[f->block[n].first].function];
	if (f->block[n].end == TW_END_IJUMP && *own & ~m->known[n].out) {
		*own &= m->known[n].out;
		m->changed = 1;
	}
	if (tw_cc_is_dispatched(f, &f->block[n]) && m->known[n].in & ~*own) {
		m->known[n].in &= *own;
		m->changed = 1;
	}
}

static void settle(const struct tw_cc_flow *f, struct tw_cc_known *known, uint16_t *hub, uint16_t *returns)
{
	struct meeting m = {known, f, 0, 1};
	for (uint32_t k = 0; k < f->code->n_functions; k++)
		hub[k] = returns[k] = 0xffff;
	for (uint32_t n = 0; n < f->n_blocks; n++)
		known[n].in = starts_unknown(f, &f->block[n]) ? 0 : 0xffff;
	while (m.changed) {
		m.changed = 0;
		for (uint32_t n = 0; n < f->n_blocks; n++) {
			m.out = tw_cc_plan(f, n, &known[n], known[n].in, &known[n].exposed);
			if (tw_cc_is_call(&f->block[n]))
				m.out = meet_call(&m, returns, n);
			known[n].out = m.out;
			meet_return(&m, returns, n);
			tw_cc_flow_each(f, n, meet, &m);
			meet_hub(&m, hub, n);
		}
	}
}

/* ---- what loops would record each time round ---- */

/* Can it record for the loop at n? */
static int can_help(const struct tw_cc_flow *f, const struct tw_cc_block_info *b)
{
	const uint8_t kind = tw_cc_last(f, b)->d.kind;
	return kind == INSN_PLAIN || kind == INSN_JUMP || kind == INSN_COND;
}

/* Larger loops are not tried. */
enum { MOST_TRIED = 500 };

/* The blocks that lead to n, by place. */
struct leading {
	uint32_t *first, *of; /* of[first[n]] to of[first[n + 1]] */
	uint16_t *number;     /* by block: its number in the loop under trial, from 1; 0: not in it */
};

static int find_leading(const struct tw_cc_flow *f, struct leading *l)
{
	l->first = calloc(f->n_blocks + 3, sizeof *l->first);
	l->of = calloc(2 * f->n_blocks + 1, sizeof *l->of);
	l->number = calloc(f->n_blocks + 1, sizeof *l->number);
	if (!l->first || !l->of || !l->number)
		return -1;
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		const int32_t next[] = {f->block[n].fall, f->block[n].target};
		for (int k = 0; k < 2; k++)
			if (next[k] >= 0)
				l->first[next[k] + 2]++;
	}
	for (uint32_t n = 3; n < f->n_blocks + 2; n++)
		l->first[n] += l->first[n - 1];
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		const int32_t next[] = {f->block[n].fall, f->block[n].target};
		for (int k = 0; k < 2; k++)
			if (next[k] >= 0)
				l->of[l->first[next[k] + 1]++] = n;
	}
	return 0;
}

/*
 * The loop at block[0], with all blocks that lead back there. `in`, `out`: what is known at the blocks' ends if more
 * is known where the loop begins.
 */
struct trial {
	const struct tw_cc_flow *f;
	const struct tw_cc_known *known;
	const struct leading *l;
	uint32_t n; /* greater than the room: the loop is too large to be tried */
	uint32_t block[MOST_TRIED];
	uint16_t in[MOST_TRIED], out[MOST_TRIED];
};

static void add_block(struct trial *t, uint32_t n)
{
	if (t->l->number[n] || t->n > MOST_TRIED)
		return;
	if (t->n < MOST_TRIED) {
		t->block[t->n] = n;
		t->l->number[n] = (uint16_t)(t->n + 1);
	}
	t->n++;
}

static void find_blocks(struct trial *t, uint32_t n)
{
	t->n = 0;
	add_block(t, n);
	for (uint32_t m = 0; m < t->n && t->n <= MOST_TRIED; m++)
		for (uint32_t k = t->l->first[t->block[m]]; k < t->l->first[t->block[m] + 1]; k++)
			if (m || tw_cc_goes_back(t->f, t->l->of[k], n))
				add_block(t, t->l->of[k]);
}

static void forget_blocks(struct trial *t)
{
	for (uint32_t k = 0; k < t->n && k < MOST_TRIED; k++)
		t->l->number[t->block[k]] = 0;
}

/* Behind a call, known is what settle() found, and what was known before and the callee leaves unchanged. */
static uint16_t try_block(const struct trial *t, uint32_t k)
{
	const uint32_t n = t->block[k];
	const struct tw_cc_block_info *b = &t->f->block[n];
	uint16_t exposed, out = tw_cc_plan(t->f, n, &t->known[n], t->in[k], &exposed);
	if (!tw_cc_is_call(b))
		return out;
	const struct tw_cc_callee *to = tw_cc_callee_of(t->f, b);
	if (!to)
		return t->known[n].out | (out & kept_behind(t->f, b));
	return to && to->returns ? t->known[n].out | (out & (uint16_t)~to->changes) : t->known[n].out;
}

/* 1: something is not known that was. */
static int try_edge(struct trial *t, int32_t to, uint16_t out)
{
	const uint32_t number = to >= 0 ? t->l->number[to] : 0;
	if (number < 2) /* it is not in the loop, or where that begins */
		return 0;
	uint16_t *in = &t->in[number - 1];
	const int lost = (*in & ~out) != 0;
	*in &= out;
	return lost;
}

static void try_all(struct trial *t, uint16_t more)
{
	for (uint32_t k = 0; k < t->n; k++)
		t->in[k] = !k ? t->known[t->block[0]].in | more : t->f->block[t->block[k]].entry ? t->known[t->block[k]].in : 0xffff;
	for (int lost = 1; lost;) {
		lost = 0;
		for (uint32_t k = 0; k < t->n; k++) {
			const struct tw_cc_block_info *b = &t->f->block[t->block[k]];
			t->out[k] = try_block(t, k);
			lost |= try_edge(t, b->fall, t->out[k]) | try_edge(t, b->target, t->out[k]);
		}
	}
}

/* What is known at the end of block n, which leads back to the loop's start. */
static uint16_t tried_out(const struct trial *t, uint32_t n)
{
	return t->n <= MOST_TRIED ? t->out[t->l->number[n] - 1] : t->known[n].out;
}

/* Registers that the loop's blocks record because they are not known, and that would stay known if known at the loop's start. */
static uint16_t wanted_in(struct trial *t)
{
	const uint32_t n = t->block[0];
	uint16_t exposed = 0;
	for (uint32_t k = 0; k < t->n && k < MOST_TRIED; k++)
		exposed |= t->known[t->block[k]].exposed;
	uint16_t kept = exposed & (uint16_t)~t->known[n].in;
	if (kept && t->n <= MOST_TRIED)
		try_all(t, kept);
	for (uint32_t k = t->l->first[n]; kept && k < t->l->first[n + 1]; k++)
		if (tw_cc_goes_back(t->f, t->l->of[k], n))
			kept &= tried_out(t, t->l->of[k]);
	return kept;
}

/* Registers that should be known at the start of the loop at n; 0: none, or impossible. */
static uint16_t wanted_by(const struct tw_cc_flow *f, const struct tw_cc_known *known, const struct leading *l, uint32_t n)
{
	struct trial t = {.f = f, .known = known, .l = l};
	int enters = 0;
	if (f->block[n].entry || f->block[n].returns_here)
		return 0;
	for (uint32_t k = l->first[n]; k < l->first[n + 1]; k++) {
		if (tw_cc_goes_back(f, l->of[k], n))
			continue;
		enters = 1;
		if (!can_help(f, &f->block[l->of[k]]))
			return 0;
	}
	if (!enters)
		return 0;
	find_blocks(&t, n);
	const uint16_t wanted = wanted_in(&t);
	forget_blocks(&t);
	return wanted;
}

static int help_loops(const struct tw_cc_flow *f, struct tw_cc_known *known, const struct leading *l)
{
	int helped = 0;
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		const uint16_t wanted = f->block[n].looped ? wanted_by(f, known, l, n) : 0;
		for (uint32_t k = l->first[n]; wanted && k < l->first[n + 1]; k++)
			if (!tw_cc_goes_back(f, l->of[k], n) && wanted & ~known[l->of[k]].extra) {
				known[l->of[k]].extra |= wanted;
				helped = 1;
			}
	}
	return helped;
}

/* ---- what addresses are worked out from ---- */

/* Registers that block n, or what it calls, writes. */
static uint16_t written_by(const struct tw_cc_flow *f, uint32_t n)
{
	const struct tw_cc_block_info *b = &f->block[n];
	const struct tw_cc_callee *to = tw_cc_callee_of(f, b);
	uint16_t written = !tw_cc_is_call(b) ? 0 : to && to->returns ? to->changes : (uint16_t)~kept_behind(f, b);
	for (uint32_t k = b->first; k < b->first + b->n; k++)
		written |= f->code->insn[k].d.defs;
	return written;
}

/* Sets the loop's properties for blocks whose innermost loop it is. */
static void find_varying(const struct tw_cc_flow *f, struct tw_cc_known *known, const struct leading *l, uint32_t n)
{
	struct trial t = {.f = f, .l = l};
	uint16_t varies = 0;
	find_blocks(&t, n);
	for (uint32_t k = 0; k < t.n && t.n <= MOST_TRIED; k++)
		varies |= written_by(f, t.block[k]);
	for (uint32_t k = 0; k < t.n && t.n <= MOST_TRIED; k++) {
		struct tw_cc_known *of = &known[t.block[k]];
		if (of->blocks && of->blocks <= t.n)
			continue;
		of->varies = varies;
		of->blocks = (uint16_t)t.n;
		of->loops = 1;
	}
	forget_blocks(&t);
}

/* Gives up sources where a block would record more values with them than without: the source is no longer known the next time. 1: any. */
static int leave_sources(const struct tw_cc_flow *f, struct tw_cc_known *known)
{
	int left = 0;
	uint16_t exposed;
	for (uint32_t n = 0; n < f->n_blocks; n++) {
		struct tw_cc_known *k = &known[n];
		if (!k->loops)
			continue;
		tw_cc_plan(f, n, k, k->in, &exposed);
		const uint32_t with = tw_cc_plan_values();
		k->loops = 0;
		tw_cc_plan(f, n, k, k->in, &exposed);
		k->loops = with <= tw_cc_plan_values();
		left |= !k->loops;
	}
	return left;
}

/* What is known where, with what loops want known at their start. */
static void settle_all(const struct tw_cc_flow *f, struct tw_cc_known *known, const struct leading *l, uint16_t *hub, uint16_t *returns)
{
	enum { ROUNDS = 4 };
	for (uint32_t n = 0; n < f->n_blocks; n++)
		known[n].extra = 0;
	for (int round = 0; round <= ROUNDS; round++) {
		settle(f, known, hub, returns);
		if (round == ROUNDS || !help_loops(f, known, l))
			break;
	}
}

struct tw_cc_known *tw_cc_plan_known(const struct tw_cc_flow *f)
{
	struct tw_cc_known *known = calloc(f->n_blocks + 1, sizeof *known);
	uint16_t *hub = calloc(2 * f->code->n_functions + 2, sizeof *hub), *returns = hub ? hub + f->code->n_functions + 1 : NULL;
	struct leading l = {0};
	if (!known || !hub || find_leading(f, &l)) {
		free(known);
		known = NULL;
	}
	for (uint32_t n = 0; known && n < f->n_blocks; n++)
		if (f->block[n].looped)
			find_varying(f, known, &l, n);
	if (known)
		settle_all(f, known, &l, hub, returns);
	if (known && leave_sources(f, known))
		settle_all(f, known, &l, hub, returns);
	free(hub);
	free(l.first);
	free(l.of);
	free(l.number);
	return known;
}

void tw_cc_plan_block(const struct tw_cc_flow *f, const struct tw_cc_known *known, uint32_t n, struct tw_cc_record *r)
{
	uint16_t exposed;
	r->n_ops = r->n_stores = r->n_values = 0;
	r->flags = 0;
	if (!known)
		return;
	tw_cc_plan(f, n, &known[n], known[n].in, &exposed);
	tw_cc_plan_take(r);
}

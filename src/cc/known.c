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

static int is_call(const struct tw_cc_block_info *b)
{
	return b->end == TW_END_CALL || b->end == TW_END_ICALL;
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
 * What is known where call n comes back to: what all the function's returns know, and what neither it changes nor what it calls. What calls lead to knows what all the calls
 * know. `returns`: known behind all returns, by function.
 */
static uint16_t meet_call(struct meeting *m, const uint16_t *returns, uint32_t n)
{
	const struct tw_cc_block_info *b = &m->flow->block[n];
	const struct tw_cc_callee *to = tw_cc_callee_of(m->flow, b);
	if (!to)
		return 0;
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

/* Indirect jumps lead to all that their function dispatches to. `hub`: what is known behind all of them, by function. */
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
			m.out = tw_cc_plan(f, n, known[n].in, known[n].extra, &known[n].exposed);
			if (is_call(&f->block[n]))
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

/* The blocks that lead to n, by place. */
struct leading {
	uint32_t *first, *of; /* of[first[n]] to of[first[n + 1]] */
};

static int find_leading(const struct tw_cc_flow *f, struct leading *l)
{
	l->first = calloc(f->n_blocks + 3, sizeof *l->first);
	l->of = calloc(2 * f->n_blocks + 1, sizeof *l->of);
	if (!l->first || !l->of)
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

/* What the loop at n wants known at its start; 0: nothing, or it cannot be had. */
static uint16_t wanted_by(const struct tw_cc_flow *f, const struct tw_cc_known *known, const struct leading *l, uint32_t n)
{
	uint16_t kept = 0xffff, exposed = 0;
	uint32_t end = n;
	int enters = 0;
	if (f->block[n].entry || f->block[n].returns_here)
		return 0;
	for (uint32_t k = l->first[n]; k < l->first[n + 1]; k++) {
		const uint32_t from = l->of[k];
		if (tw_cc_goes_back(f, from, n)) {
			kept &= known[from].out;
			end = from > end ? from : end;
		} else {
			enters = 1;
			if (!can_help(f, &f->block[from]))
				return 0;
		}
	}
	for (uint32_t k = n; k <= end; k++)
		exposed |= known[k].exposed;
	return enters ? (uint16_t)(kept & exposed & ~known[n].in) : 0;
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

struct tw_cc_known *tw_cc_plan_known(const struct tw_cc_flow *f)
{
	enum { ROUNDS = 4 };
	struct tw_cc_known *known = calloc(f->n_blocks + 1, sizeof *known);
	uint16_t *hub = calloc(2 * f->code->n_functions + 2, sizeof *hub), *returns = hub ? hub + f->code->n_functions + 1 : NULL;
	struct leading l = {0};
	if (!known || !hub || find_leading(f, &l)) {
		free(known);
		known = NULL;
	}
	for (int round = 0; known && round <= ROUNDS; round++) {
		settle(f, known, hub, returns);
		if (round == ROUNDS || !help_loops(f, known, &l))
			break;
	}
	free(hub);
	free(l.first);
	free(l.of);
	return known;
}

void tw_cc_plan_block(const struct tw_cc_flow *f, const struct tw_cc_known *known, uint32_t n, struct tw_cc_record *r)
{
	uint16_t exposed;
	r->n_ops = r->n_stores = r->n_values = 0;
	r->flags = 0;
	if (!known)
		return;
	tw_cc_plan(f, n, known[n].in, known[n].extra, &exposed);
	tw_cc_plan_take(r);
}

/*
 * dep-s: control flow and the stack, for analyzers of calls. It stores tags of fragments as in dep-c. Of addresses,
 * it has those where calls store their return addresses and returns load them. So replay knows rsp everywhere, and
 * within a fragment what is computed from rbp; no other registers. If rsp is set in another way, its new value is
 * recorded. The number of references follows from the descriptors, which have all operations; addresses that are not
 * relative to rsp are meaningless.
 */
#include "instrument/planner.h"

#define KNOWS_RSP (1u << TW_RSP)
#define FOLLOWED  (KNOWS_RSP | 1u << TW_RBP)

struct stack_planner {
	struct planner planner;
	u32 known; /* of the followed ones */
};

static void need(struct planner *planner, u8 reg)
{
	(void)planner, (void)reg;
}

static bool is_known(const struct stack_planner *w, u8 reg)
{
	return reg >= TW_NREGS || w->known >> reg & 1;
}

static void plan_update(struct stack_planner *w, const struct tw_op *op)
{
	const u32 dst = 1u << op->count;
	const bool is_worked_out = (dst & FOLLOWED) && is_known(w, op->base) && is_known(w, op->index);
	w->known &= ~dst;
	if (!is_worked_out)
		return;
	tw_planner_op(&w->planner, op);
	w->known |= dst;
}

static void plan_insn(struct stack_planner *w, const struct block *b, const struct insn *i)
{
	for (u16 k = i->first_op; k < i->first_op + i->n_ops; k++) {
		if (tw_op_is_update(&b->op[k].op))
			plan_update(w, &b->op[k].op);
		else
			tw_planner_reference(&w->planner, b, k);
	}
	w->known &= ~(u32)i->lost;
	if (!(w->known & KNOWS_RSP) && i->kind == INSN_PLAIN) {
		tw_planner_record(&w->planner, TW_RSP, true);
		w->known |= KNOWS_RSP;
	}
}

static void stack_plan(const struct block *b, u32 context, struct plan *p)
{
	struct stack_planner w = {.planner = {.p = p, .need = need}, .known = context & FOLLOWED};
	for (u16 k = 0; k < b->n_insns; k++) {
		w.planner.insn = (u8)k;
		if (b->insn[k].kind != INSN_BAD)
			plan_insn(&w, b, &b->insn[k]);
		p->after[k].context = w.known & KNOWS_RSP;
		p->after[k].n_ops = p->n_ops;
		p->after[k].n_values = p->after[k].n_placed = p->n_values;
	}
}

const struct instrumentor tw_instrument_dep_s = {
    .name = "dep-s",
    .format = TW_FORMAT_DEP_S,
    .records = true,
    .superblocks = true,
    .context = KNOWS_RSP,
    .plan = stack_plan,
};

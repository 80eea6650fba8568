/*
 * dep: detailed execution profiles as tags and register values (Zhao et al., PACT 2006), with computable updates.
 *
 * A fragment stores its tag when it is entered, and before an instruction the address registers that replay does not know by then. What replay
 * knows is followed through the fragment: a recorded register is known until it is overwritten by something replay cannot compute.
 * rsp is known everywhere: where it is set in a way that cannot be computed, its new value is recorded at once. A context is the set of
 * registers known at entry. Fragments of one block are entered knowing rsp alone; superblocks come in versions that are entered knowing more.
 */
#include "instrument/instrumentor.h"
#include "engine/x86_64/translate.h"

#define KNOWS_RSP (1u << TW_RSP)

/* The plan being made. */
struct planner {
	struct plan *p;
	u16 known;
	u8 insn;
};

static u16 slot_new(struct planner *w, u32 n)
{
	u16 slot = w->p->n_values;
	w->p->n_values = (u16)(slot + n);
	return slot;
}

static void store(struct planner *w, u8 what, u8 reg, u16 slot, bool after)
{
	w->p->store[w->p->n_stores++] = (struct store){w->insn, after, what, reg, slot, 0};
}

static void push_op(struct planner *w, const struct tw_op *op)
{
	w->p->op[w->p->n_ops++] = *op;
}

static void record(struct planner *w, u8 reg, bool after)
{
	struct tw_op op = {.kind = TW_OP_RECORD, .insn = w->insn, .base = reg, .index = TW_NOREG, .value = slot_new(w, 1)};
	store(w, VEC_NONE, reg, op.value, after);
	push_op(w, &op);
	w->known |= (u16)(1u << reg);
}

static void need(struct planner *w, u8 reg)
{
	if (reg < TW_NREGS && !(w->known >> reg & 1))
		record(w, reg, false);
}

static u32 vector_slots(u8 kind)
{
	return kind == VEC_ZMM ? 8 : kind == VEC_YMM ? 4 : kind == VEC_XMM ? 2 : 1;
}

static void plan_lanes(struct planner *w, const struct memop *m, struct tw_op *op)
{
	if (op->index_width) {
		op->value = slot_new(w, vector_slots(m->index_kind));
		store(w, m->index_kind, m->index_reg, op->value, false);
	}
	op->mask_value = slot_new(w, vector_slots(m->mask_kind));
	store(w, m->mask_kind, m->mask_reg, op->mask_value, false);
	w->p->flags |= TW_DESC_DYNAMIC;
}

static void plan_rep(struct planner *w, struct tw_op *op)
{
	u8 counter = op->base == TW_RDI || op->index == TW_RDI ? TW_RDI : TW_RSI;
	op->value = slot_new(w, 1);
	store(w, VEC_NONE, counter, op->value, false);
	op->mask_value = slot_new(w, 1);
	store(w, VEC_NONE, counter, op->mask_value, true);
	w->p->flags |= TW_DESC_DYNAMIC;
}

static void plan_xsave(struct planner *w, const struct memop *m, struct tw_op *op, u16 index)
{
	op->value = slot_new(w, 1);
	store(w, VEC_NONE, TW_RAX, op->value, false);
	if (!m->xcomp)
		return;
	op->flags |= TW_OPF_SECOND;
	op->mask_value = slot_new(w, 1);
	store(w, STORE_XCOMP, TW_NOREG, op->mask_value, false);
	w->p->store[w->p->n_stores - 1].op = index;
}

static void plan_reference(struct planner *w, const struct block *b, u16 index)
{
	struct tw_op op = b->op[index].op;
	need(w, op.base);
	need(w, op.index);
	switch (op.kind) {
	case TW_OP_BIT:
		need(w, (u8)op.count);
		break;
	case TW_OP_LANES:
		plan_lanes(w, &b->op[index], &op);
		break;
	case TW_OP_REP:
		plan_rep(w, &op);
		break;
	case TW_OP_XSAVE:
		plan_xsave(w, &b->op[index], &op, index);
		break;
	default:
		break;
	}
	push_op(w, &op);
}

void tw_plan_reference(const struct block *b, u8 insn, u16 op, struct plan *p)
{
	struct planner w = {p, 0, insn};
	plan_reference(&w, b, op);
}

static bool is_known(const struct planner *w, u8 reg)
{
	return reg >= TW_NREGS || w->known >> reg & 1;
}

static void plan_update(struct planner *w, const struct tw_op *op)
{
	u16 dst = (u16)(1u << op->count);
	if (!is_known(w, op->base) || !is_known(w, op->index)) {
		w->known &= (u16)~dst;
		return;
	}
	push_op(w, op);
	w->known |= dst;
}

static void plan_insn(struct planner *w, const struct block *b, const struct insn *i)
{
	u16 kept = 0;
	for (u16 k = i->first_op; k < i->first_op + i->n_ops; k++) {
		const struct tw_op *op = &b->op[k].op;
		if (op->kind == TW_OP_SET) {
			plan_update(w, op);
			continue;
		}
		plan_reference(w, b, k);
		if (op->kind == TW_OP_REP && !(op->flags & TW_OPF_ADDR32))
			kept |= (u16)(1u << op->base | (op->index < TW_NREGS ? 1u << op->index : 0));
	}
	w->known &= (u16) ~(i->lost & ~kept);
	if (!(w->known & KNOWS_RSP) && i->kind == INSN_PLAIN)
		record(w, TW_RSP, true);
}

static void dep_plan(const struct block *b, u32 context, struct plan *p)
{
	struct planner w = {p, (u16)context, 0};
	for (u16 k = 0; k < b->n_insns; k++) {
		w.insn = (u8)k;
		if (b->insn[k].kind != INSN_BAD)
			plan_insn(&w, b, &b->insn[k]);
		p->after[k].context = w.known;
		p->after[k].n_ops = p->n_ops;
		p->after[k].n_values = p->after[k].n_placed = p->n_values;
	}
}

const struct instrumentor tw_instrument_dep = {
    .name = "dep",
    .format = TW_FORMAT_DEP,
    .records = true,
    .superblocks = true,
    .context = KNOWS_RSP,
    .plan = dep_plan,
};

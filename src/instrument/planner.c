#include "instrument/planner.h"

void tw_planner_op(struct planner *w, const struct tw_op *op)
{
	w->p->op[w->p->n_ops++] = *op;
}

void tw_planner_store(struct planner *w, u8 what, u8 reg, u16 place, bool after)
{
	w->p->store[w->p->n_stores++] = (struct store){w->insn, after, what, reg, place, 0};
}

u16 tw_planner_values(struct planner *w, u8 what, u8 reg, u32 n, bool after)
{
	u16 value = w->p->n_values;
	tw_planner_store(w, what, reg, w->n_placed, after);
	w->p->n_values = (u16)(value + n);
	w->n_placed = (u16)(w->n_placed + n);
	return value;
}

void tw_planner_record(struct planner *w, u8 reg, bool after)
{
	struct tw_op op = {.kind = TW_OP_RECORD, .insn = w->insn, .base = reg, .index = TW_NOREG};
	op.value = tw_planner_values(w, VEC_NONE, reg, 1, after);
	tw_planner_op(w, &op);
}

static u32 vector_slots(u8 kind)
{
	return kind == VEC_ZMM ? 8 : kind == VEC_YMM ? 4 : kind == VEC_XMM ? 2 : 1;
}

static void plan_lanes(struct planner *w, const struct memop *m, struct tw_op *op)
{
	if (op->index_width)
		op->value = tw_planner_values(w, m->index_kind, m->index_reg, vector_slots(m->index_kind), false);
	op->mask_value = tw_planner_values(w, m->mask_kind, m->mask_reg, vector_slots(m->mask_kind), false);
	w->p->flags |= TW_DESC_DYNAMIC;
}

static void plan_rep(struct planner *w, struct tw_op *op)
{
	u8 counter = op->base == TW_RDI || op->index == TW_RDI ? TW_RDI : TW_RSI;
	op->value = tw_planner_values(w, VEC_NONE, counter, 1, false);
	op->mask_value = tw_planner_values(w, VEC_NONE, counter, 1, true);
	w->p->flags |= TW_DESC_DYNAMIC;
}

static void plan_xsave(struct planner *w, const struct memop *m, struct tw_op *op, u16 index)
{
	op->value = tw_planner_values(w, VEC_NONE, TW_RAX, 1, false);
	if (!m->xcomp)
		return;
	op->flags |= TW_OPF_SECOND;
	op->mask_value = tw_planner_values(w, STORE_XCOMP, TW_NOREG, 1, false);
	w->p->store[w->p->n_stores - 1].op = index;
}

void tw_planner_reference(struct planner *w, const struct block *b, u16 index)
{
	struct tw_op op = b->op[index].op;
	w->need(w, op.base);
	w->need(w, op.index);
	switch (op.kind) {
	case TW_OP_BIT:
		w->need(w, (u8)op.count);
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
	tw_planner_op(w, &op);
}

/*
 * dep06 and dep06-c: detailed execution profiles as in the paper (Zhao et al., PACT 2006), to compare dep with.
 *
 * Control flow is the lower half of the block's 4-byte address (L-tag) at each execution, and an escape with the upper half (H-tag) where that changes. Each
 * register has a status, UPDATED or RECORDED, in thread.status: before a reference its registers' statuses are tested, and where one is UPDATED the
 * value is recorded and it becomes RECORDED; where a register is written it becomes UPDATED. No update counts as computable.
 *
 * Within a fragment most tests and updates are redundant, and left out: a register that has been tested and not been written since is RECORDED; one that has been
 * written since is UPDATED, and recorded without a test; statuses are stored only where the fragment is left, and only as far as memory has another. That
 * needs no care at faults: whenever a fragment does not run to one of its ends, a keyframe follows, which makes all registers UPDATED.
 */
#include "instrument/instrumentor.h"
#include "engine/x86_64/translate.h"

/* The plan being made. What is known of a register's status is in `recorded` and `updated` (in neither: nothing); tested: memory has RECORDED. */
struct planner {
	struct plan *p;
	u16 recorded, updated;
	u16 tested;
	u16 n_placed;
	u8 insn;
};

static void push_op(struct planner *w, const struct tw_op *op)
{
	w->p->op[w->p->n_ops++] = *op;
}

static void store(struct planner *w, u8 what, u8 reg, u16 slot, bool after)
{
	w->p->store[w->p->n_stores++] = (struct store){w->insn, after, what, reg, slot, 0};
}

/* A new slot of the descriptor's. */
static u16 value_new(struct planner *w, u32 n)
{
	u16 value = w->p->n_values;
	w->p->n_values = (u16)(value + n);
	return value;
}

/* Room in the record for n values that are stored in any case. */
static u16 place_new(struct planner *w, u32 n)
{
	u16 slot = w->n_placed;
	w->n_placed = (u16)(slot + n);
	return slot;
}

static void need(struct planner *w, u8 reg)
{
	const u16 bit = (u16)(reg < TW_NREGS ? 1u << reg : 0);
	if (!bit || w->recorded & bit)
		return;
	struct tw_op op = {.kind = TW_OP_RECORD, .insn = w->insn, .base = reg, .index = TW_NOREG, .value = value_new(w, 1)};
	push_op(w, &op);
	if (w->updated & bit) {
		store(w, VEC_NONE, reg, place_new(w, 1), false);
	} else {
		store(w, STORE_TESTED, reg, w->n_placed, false);
		w->tested |= bit;
	}
	w->recorded |= bit;
	w->updated &= (u16)~bit;
}

static u32 vector_slots(u8 kind)
{
	return kind == VEC_ZMM ? 8 : kind == VEC_YMM ? 4 : kind == VEC_XMM ? 2 : 1;
}

static void plan_lanes(struct planner *w, const struct memop *m, struct tw_op *op)
{
	if (op->index_width) {
		op->value = value_new(w, vector_slots(m->index_kind));
		store(w, m->index_kind, m->index_reg, place_new(w, vector_slots(m->index_kind)), false);
	}
	op->mask_value = value_new(w, vector_slots(m->mask_kind));
	store(w, m->mask_kind, m->mask_reg, place_new(w, vector_slots(m->mask_kind)), false);
	w->p->flags |= TW_DESC_DYNAMIC;
}

static void plan_rep(struct planner *w, struct tw_op *op)
{
	u8 counter = op->base == TW_RDI || op->index == TW_RDI ? TW_RDI : TW_RSI;
	op->value = value_new(w, 1);
	store(w, VEC_NONE, counter, place_new(w, 1), false);
	op->mask_value = value_new(w, 1);
	store(w, VEC_NONE, counter, place_new(w, 1), true);
	w->p->flags |= TW_DESC_DYNAMIC;
}

static void plan_xsave(struct planner *w, const struct memop *m, struct tw_op *op, u16 index)
{
	op->value = value_new(w, 1);
	store(w, VEC_NONE, TW_RAX, place_new(w, 1), false);
	if (!m->xcomp)
		return;
	op->flags |= TW_OPF_SECOND;
	op->mask_value = value_new(w, 1);
	store(w, STORE_XCOMP, TW_NOREG, place_new(w, 1), false);
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

static void plan_writes(struct planner *w, u16 regs)
{
	struct tw_op op = {.kind = TW_OP_WRITTEN, .insn = w->insn, .base = TW_NOREG, .index = TW_NOREG, .count = regs & (u16)~w->updated};
	if (!op.count)
		return;
	push_op(w, &op);
	w->updated |= regs;
	w->recorded &= (u16)~regs;
}

static void plan_insn(struct planner *w, const struct block *b, const struct insn *i)
{
	for (u16 k = i->first_op; k < i->first_op + i->n_ops; k++)
		if (!tw_op_is_update(&b->op[k].op))
			plan_reference(w, b, k);
	plan_writes(w, i->defs | i->lost);
}

static void dep06_plan(const struct block *b, u32 context, struct plan *p)
{
	struct planner w = {.p = p};
	(void)context;
	for (u16 k = 0; k < b->n_insns; k++) {
		w.insn = (u8)k;
		if (b->insn[k].kind != INSN_BAD)
			plan_insn(&w, b, &b->insn[k]);
		p->after[k].n_ops = p->n_ops;
		p->after[k].n_values = p->n_values;
		p->after[k].n_placed = w.n_placed;
		p->after[k].statuses = (struct statuses){w.recorded & (u16)~w.tested, w.updated};
	}
}

const struct instrumentor tw_instrument_dep06 = {
    .name = "dep06",
    .format = TW_FORMAT_DEP06,
    .records = true,
    .superblocks = true,
    .plan = dep06_plan,
};

const struct instrumentor tw_instrument_dep06_c = {
    .name = "dep06-c",
    .format = TW_FORMAT_DEP06_C,
    .records = true,
    .superblocks = true,
};

/*
 * dep06 and dep06-c: detailed execution profiles as in the paper (Zhao et al., PACT 2006), to compare dep with.
 *
 * Control flow is the lower half of the block's 4-byte address (L-tag) at each execution, and an escape with the
 * upper half (H-tag) when that changes. Each register has a status, UPDATED or RECORDED, in thread.status. Before a
 * reference, the statuses of its registers are tested; if one is UPDATED, the value is recorded and the status
 * becomes RECORDED. Writing a register makes it UPDATED. No update counts as computable.
 *
 * Within a fragment most tests and updates are redundant and left out. A register that has been tested and not
 * written since is RECORDED; one written since is UPDATED, and recorded without a test. Statuses are stored only at
 * exits of the fragment, and only if memory has another. Faults need no special care: whenever a fragment does not
 * run to one of its exits, a keyframe follows, which makes all registers UPDATED.
 */
#include "instrument/planner.h"

/* What is known of a register's status is in `recorded` and `updated` (in neither: nothing); tested: memory has RECORDED. */
struct dep06_planner {
	struct planner planner;
	u16 recorded, updated;
	u16 tested;
};

/* Its status, RECORDED or not, is tested when the code runs. */
static void record_if_updated(struct planner *w, u8 reg)
{
	struct tw_op op = {.kind = TW_OP_RECORD, .insn = w->insn, .base = reg, .index = TW_NOREG, .value = w->p->n_values++};
	tw_planner_op(w, &op);
	tw_planner_store(w, STORE_TESTED, reg, w->n_placed, false);
}

static void need(struct planner *planner, u8 reg)
{
	struct dep06_planner *w = (struct dep06_planner *)planner;
	const u16 bit = (u16)(reg < TW_NREGS ? 1u << reg : 0);
	if (!bit || w->recorded & bit)
		return;
	if (w->updated & bit) {
		tw_planner_record(planner, reg, false);
	} else {
		record_if_updated(planner, reg);
		w->tested |= bit;
	}
	w->recorded |= bit;
	w->updated &= (u16)~bit;
}

static void plan_writes(struct dep06_planner *w, u16 regs)
{
	struct tw_op op = {
	    .kind = TW_OP_WRITTEN, .insn = w->planner.insn, .base = TW_NOREG, .index = TW_NOREG, .count = regs & (u16)~w->updated};
	if (!op.count)
		return;
	tw_planner_op(&w->planner, &op);
	w->updated |= regs;
	w->recorded &= (u16)~regs;
}

static void plan_insn(struct dep06_planner *w, const struct block *b, const struct insn *i)
{
	for (u16 k = i->first_op; k < i->first_op + i->n_ops; k++)
		if (!tw_op_is_update(&b->op[k].op))
			tw_planner_reference(&w->planner, b, k);
	plan_writes(w, i->defs | i->lost);
}

static void dep06_plan(const struct block *b, u32 context, struct plan *p)
{
	struct dep06_planner w = {.planner = {.p = p, .need = need}};
	(void)context;
	for (u16 k = 0; k < b->n_insns; k++) {
		w.planner.insn = (u8)k;
		if (b->insn[k].kind != INSN_BAD)
			plan_insn(&w, b, &b->insn[k]);
		p->after[k].n_ops = p->n_ops;
		p->after[k].n_values = p->n_values;
		p->after[k].n_placed = w.planner.n_placed;
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

/*
 * mem_addr and bb_pc+mem_addr: the effective address of every reference, computed and stored as the program runs. The
 * common way to trace memory, for comparison.
 *
 * mem_addr has a 2-byte tag for each block, without which the addresses could not be assigned to blocks;
 * bb_pc+mem_addr has 4 bytes as in bb_pc. Constant addresses are stored too. For an operand relative to a segment,
 * the offset is stored. String instructions with a repeat prefix, gathers, bit strings and the like are recorded as
 * in dep, with no register known.
 */
#include "instrument/planner.h"

/* Registers tw_scratch chooses from. */
#define SCRATCH (1u << TW_RAX | 1u << TW_RCX | 1u << TW_RDX | 1u << TW_RBX | 1u << TW_RSI | 1u << TW_RDI)

/* One scratch register, whichever one holds the buffer pointer. */
static bool has_scratch(const struct insn *i)
{
	u32 spare = SCRATCH & ~(u32)(i->uses | i->defs);
	return spare & (spare - 1);
}

/* No register is known but to the reference that recorded it. */
struct mem_addr_planner {
	struct planner planner;
	u16 recorded;
};

static void need(struct planner *planner, u8 reg)
{
	struct mem_addr_planner *w = (struct mem_addr_planner *)planner;
	if (reg >= TW_NREGS || w->recorded >> reg & 1)
		return;
	tw_planner_record(planner, reg, false);
	w->recorded |= (u16)(1u << reg);
}

/* Replay takes the address as the value of a register that is valid until the next reference. */
static void plan_address(struct planner *w, const struct block *b, u16 index)
{
	const struct tw_op *ea = &b->op[index].op;
	u16 value = tw_planner_values(w, STORE_ADDRESS, TW_NOREG, 1, false);
	const struct tw_op op[] = {
	    {.kind = TW_OP_RECORD, .insn = w->insn, .base = TW_RAX, .index = TW_NOREG, .value = value},
	    {.kind = TW_OP_REF, .insn = w->insn, .base = TW_RAX, .index = TW_NOREG, .seg = ea->seg, .type = ea->type, .size = ea->size},
	};
	w->p->store[w->p->n_stores - 1].op = index;
	tw_planner_op(w, &op[0]);
	tw_planner_op(w, &op[1]);
}

static void plan_insn(struct mem_addr_planner *w, const struct block *b, const struct insn *i)
{
	for (u16 n = i->first_op; n < i->first_op + i->n_ops; n++) {
		const struct tw_op *op = &b->op[n].op;
		w->recorded = 0;
		if (op->kind == TW_OP_REF && !(op->flags & ~TW_OPF_ADDR32) && has_scratch(i))
			plan_address(&w->planner, b, n);
		else if (!tw_op_is_update(op))
			tw_planner_reference(&w->planner, b, n);
	}
}

static void mem_addr_plan(const struct block *b, u32 context, struct plan *p)
{
	struct mem_addr_planner w = {.planner = {.p = p, .need = need}};
	(void)context;
	for (u8 k = 0; k < b->n_insns; k++) {
		w.planner.insn = k;
		if (b->insn[k].kind != INSN_BAD)
			plan_insn(&w, b, &b->insn[k]);
	}
	p->after[b->n_insns - 1].n_placed = w.planner.n_placed;
}

const struct instrumentor tw_instrument_mem_addr = {
    .name = "mem_addr",
    .format = TW_FORMAT_MEM_ADDR,
    .records = true,
    .plan = mem_addr_plan,
};

const struct instrumentor tw_instrument_bb_pc_mem_addr = {
    .name = "bb_pc+mem_addr",
    .format = TW_FORMAT_BB_PC_MEM_ADDR,
    .records = true,
    .plan = mem_addr_plan,
};

/*
 * mem_addr and bb_pc+mem_addr: the effective address of every reference, computed and stored as the program runs. The common way to trace
 * memory, to compare with.
 *
 * mem_addr has a 2-byte tag for each block, without which nobody could tell whose the addresses are; bb_pc+mem_addr 4 bytes as in bb_pc. Constant
 * addresses are stored too. Of an operand relative to a segment it is the offset. String instructions with a repeat prefix, gathers, bit strings
 * and the like are recorded as in dep, with no register known.
 */
#include "instrument/instrumentor.h"
#include "engine/x86_64/translate.h"

/* Registers tw_scratch chooses from. */
#define SCRATCH (1u << TW_RAX | 1u << TW_RCX | 1u << TW_RDX | 1u << TW_RBX | 1u << TW_RSI | 1u << TW_RDI)

/* One scratch register, whichever one holds the buffer pointer. */
static bool has_scratch(const struct insn *i)
{
	u32 spare = SCRATCH & ~(u32)(i->uses | i->defs);
	return spare & (spare - 1);
}

static void plan_address(const struct block *b, u8 insn, u16 index, struct plan *p)
{
	const struct tw_op *ea = &b->op[index].op;
	u16 slot = p->n_values++;
	p->store[p->n_stores++] = (struct store){insn, false, STORE_ADDRESS, TW_NOREG, slot, index};
	p->op[p->n_ops++] = (struct tw_op){.kind = TW_OP_RECORD, .insn = insn, .base = TW_RAX, .index = TW_NOREG, .value = slot};
	p->op[p->n_ops++] = (struct tw_op){
	    .kind = TW_OP_REF, .insn = insn, .base = TW_RAX, .index = TW_NOREG, .seg = ea->seg, .type = ea->type, .size = ea->size};
}

static void mem_addr_plan(const struct block *b, u32 context, struct plan *p)
{
	(void)context;
	for (u8 k = 0; k < b->n_insns; k++) {
		const struct insn *i = &b->insn[k];
		if (i->kind == INSN_BAD)
			continue;
		for (u16 n = i->first_op; n < i->first_op + i->n_ops; n++) {
			const struct tw_op *op = &b->op[n].op;
			if (op->kind == TW_OP_REF && !(op->flags & ~TW_OPF_ADDR32) && has_scratch(i))
				plan_address(b, k, n, p);
			else if (!tw_op_is_update(op))
				tw_plan_reference(b, k, n, p);
		}
	}
	p->after[b->n_insns - 1].n_placed = p->n_values;
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

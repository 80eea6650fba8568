/* What a fragment writes to its record: its number at entry, and the values of its plan. */
#include "engine/x86_64/translate.h"
#include "instrument/instrumentor.h"

static i32 slot_offset(u16 slot)
{
	return (i32)tw_record_head(tw_engine.instr->format) + 8 * slot;
}

void tw_emit_number(struct emit *e)
{
	u32 number = e->f->number;
	if (tw_record_head(tw_engine.instr->format) == sizeof number)
		emit_mov_mem32_imm(e, e->buf, 0, number);
	else
		emit_mov_mem16_imm(e, e->buf, 0, (u16)number);
}

/* The address of an operand, or the quadword 520 bytes on (the XCOMP_BV field of an xsave area), through a scratch register. */
static void store_computed(struct emit *e, const struct block *b, const struct store *s)
{
	struct tw_op ea = b->op[s->op].op;
	u8 t = tw_scratch(&b->insn[s->insn], e->buf, TW_NOREG);
	u16 flags = e->now.flags;
	ea.disp += s->what == STORE_XCOMP ? 520 : 0;
	emit_mov_gs_reg(e, T_SLOT_S, t);
	e->now.spill = t & 15;
	emit_state(e, s->insn, flags | STATE_SPILL);
	emit_load_address(e, t, &ea, s->what == STORE_XCOMP);
	emit_mov_mem_reg(e, e->buf, slot_offset(s->slot), t);
	emit_mov_reg_gs(e, t, T_SLOT_S);
	emit_state(e, s->insn, flags);
}

void tw_emit_stores(struct emit *e, const struct block *b, const struct plan *p, unsigned i, bool after)
{
	for (u16 k = 0; k < p->n_stores; k++) {
		const struct store *s = &p->store[k];
		if (s->insn != i || s->after != after)
			continue;
		if (s->what == VEC_NONE)
			emit_mov_mem_reg(e, e->buf, slot_offset(s->slot), s->reg);
		else if (s->what == STORE_XCOMP || s->what == STORE_ADDRESS)
			store_computed(e, b, s);
		else
			emit_store_vector(e, e->buf, slot_offset(s->slot), s->what, s->reg);
	}
}

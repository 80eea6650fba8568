#include "engine/record/store.h"
#include "engine/record/call_code.h"
#include "engine/record/instrumentor.h"

static i32 slot_offset(const struct emit *e, u16 slot)
{
	return e->values + 8 * slot;
}

/* Bytes that emit_tag writes. */
static u8 tag_bytes(u32 tag)
{
	return tag & 0xffff ? 2 : TW_ZERO_BYTES;
}

/* Stores a tag's lower half. 0 would be an escape: such tags have an escape of their own. */
static void emit_tag(struct emit *e, i32 at, u32 tag)
{
	if (tag & 0xffff) {
		emit_mov_mem16_imm(e, e->buf, at, (u16)tag);
		return;
	}
	emit_mov_mem32_imm(e, e->buf, at, (u32)TW_ESCAPE_ZERO << 16);
	emit_mov_mem16_imm(e, e->buf, at + 4, (u16)(tag >> 16));
	emit_mov_gs_imm(e, T_UPPER, tag >> 16);
}

u16 tw_tag_bytes(u32 before, u32 tag)
{
	return (u16)(tag_bytes(tag) + (tag & 0xffff && before >> 16 != tag >> 16 ? TW_ESCAPE_BYTES : 0));
}

void tw_emit_next_tag(struct emit *e, const struct block *b, u16 part, const struct piece *pieces, u32 flags)
{
	const u32 tag = b->part[part].tag;
	const u8 k = (u8)b->part[part].first_insn;
	const bool changes = tag & 0xffff && b->part[part - 1].tag >> 16 != tag >> 16;
	emit_state(e, k, flags | STATE_NOT_OPEN);
	emit_lea(e, e->buf, e->buf, pieces[part - 1].record_bytes);
	emit_state(e, k, flags | STATE_NOT_OPEN | STATE_CLOSED);
	if (tw_logs())
		tw_call_close(e, e->rec);
	if (changes)
		emit_mov_mem32_imm(e, e->buf, 0, tag & 0xffff0000u);
	emit_tag(e, changes ? TW_ESCAPE_BYTES : 0, tag);
	e->values = pieces[part].values;
	emit_state(e, k, flags);
	if (changes)
		emit_mov_gs_imm(e, T_UPPER, tag >> 16);
	if (tw_logs())
		tw_call_entry(e, b, e->rec, part, 0);
}

void tw_emit_number(struct emit *e)
{
	u32 number = e->rec->number;
	e->values = e->rec->head;
	if (tw_form_now() == TW_FORM_BITS)
		return;
	if (tw_tags_used())
		emit_tag(e, 0, e->rec->tag);
	else if (tw_record_head(tw_instr()->format) == sizeof number)
		emit_mov_mem32_imm(e, e->buf, 0, number);
	else
		emit_mov_mem16_imm(e, e->buf, 0, (u16)number);
}

/* Loads the address of an operand, or of the quadword 520 bytes on (XCOMP_BV of an xsave area), through a scratch register. */
static void store_computed(struct emit *e, const struct block *b, const struct store *s)
{
	struct tw_op ea = b->op[s->op].op;
	u8 t = tw_scratch(&b->insn[s->insn], e->buf, TW_NOREG);
	u32 flags = e->now.flags;
	ea.disp += s->what == STORE_XCOMP ? 520 : 0;
	emit_spill(e, s->insn, t, flags);
	emit_load_address(e, t, &ea, s->what == STORE_XCOMP);
	emit_mov_mem_reg(e, e->buf, slot_offset(e, s->slot), t);
	emit_mov_reg_gs(e, t, T_SLOT_S);
	emit_state(e, s->insn, flags);
}

static void emit_status(struct emit *e, u8 reg, u8 status)
{
	emit_bytes(e, "\x65\xc6\x04\x25", 4); /* mov byte gs:[status of reg], imm8 */
	emit_32(e, T_STATUS + reg);
	emit_8(e, status);
}

void tw_emit_statuses(struct emit *e, const struct statuses *s)
{
	for (u8 r = 0; r < TW_NREGS; r++)
		if ((s->recorded | s->updated) >> r & 1)
			emit_status(e, r, s->updated >> r & 1 ? TW_UPDATED : TW_RECORDED);
}

/* Stores the register's value if it has been written since it was last recorded. The test is jrcxz, which leaves the flags alone. */
static void store_tested(struct emit *e, const struct store *s)
{
	u32 flags = e->now.flags;
	emit_spill(e, s->insn, TW_RCX, flags);
	emit_bytes(e, "\x65\x0f\xb6\x0c\x25", 5); /* movzx ecx, byte gs:[status of reg] */
	emit_32(e, T_STATUS + s->reg);
	emit_bytes(e, "\xe3", 1); /* jrcxz over what follows */
	u8 *over = e->at;
	emit_8(e, 0);
	if (s->reg == TW_RCX)
		emit_mov_reg_gs(e, TW_RCX, T_SLOT_S);
	emit_mov_mem_reg(e, e->buf, slot_offset(e, s->slot), s->reg);
	emit_lea(e, e->buf, e->buf, 8);
	emit_status(e, s->reg, TW_RECORDED);
	*over = (u8)(e->at - (over + 1));
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_S);
	emit_state(e, s->insn, flags);
}

void tw_emit_stores(struct emit *e, const struct block *b, const struct plan *p, unsigned i, bool after)
{
	for (u16 k = 0; k < p->n_stores; k++) {
		const struct store *s = &p->store[k];
		if (s->insn != i || s->after != after)
			continue;
		if (s->what == VEC_NONE)
			emit_mov_mem_reg(e, e->buf, slot_offset(e, s->slot), s->reg);
		else if (s->what == STORE_TESTED)
			store_tested(e, s);
		else if (s->what == STORE_XCOMP || s->what == STORE_ADDRESS)
			store_computed(e, b, s);
		else
			emit_store_vector(e, e->buf, slot_offset(e, s->slot), s->what, s->reg);
	}
}

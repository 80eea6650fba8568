#include "engine/record/bits_code.h"
#include "engine/record/bits.h"

static void emit_mov_gs64_imm(struct emit *e, u32 slot, u32 imm)
{
	emit_bytes(e, "\x65\x48\xc7\x04\x25", 5);
	emit_32(e, slot);
	emit_32(e, imm);
}

/* The group in thread.bits is complete: stores it at its place; the next group's place is here. rcx is free; rax is saved here. */
static void emit_switch(struct emit *e, u32 flags)
{
	emit_mov_gs_reg(e, T_SLOT_S2, TW_RAX);
	e->now.spill2 = TW_RAX;
	emit_state(e, BITS_TOLD, flags | STATE_SPILL | STATE_SPILL2);
	emit_mov_mem32_imm(e, BUF_REG, 0, 0); /* where it may run into the guard page */
	emit_mov_reg_gs(e, TW_RCX, T_BITS);
	emit_mov_reg_gs(e, TW_RAX, T_GROUP);
	emit_bytes(e, "\x89\x08", 2); /* mov [rax], ecx */
	emit_state(e, BITS_SWITCHES, flags | STATE_SPILL | STATE_SPILL2);
	emit_mov_gs_reg(e, T_GROUP, BUF_REG);
	emit_mov_gs64_imm(e, T_BITS, 3);
	emit_lea(e, BUF_REG, BUF_REG, TW_GROUP_BYTES);
	emit_state(e, BITS_TOLD, flags | STATE_SPILL | STATE_SPILL2);
	emit_mov_reg_gs(e, TW_RAX, T_SLOT_S2);
}

u8 tw_bit_emit(struct emit *e, u8 insn, bool bit, u32 flags)
{
	emit_state(e, insn, flags);
	emit_mov_gs_reg(e, T_SLOT_S, TW_RCX);
	e->now.spill = TW_RCX;
	emit_state(e, insn, flags | STATE_SPILL);
	emit_mov_reg_gs(e, TW_RCX, T_BITS);
	emit_bytes(e, "\x48\x8d\x4c\x09", 4); /* lea rcx, [rcx + rcx + bit] */
	emit_8(e, bit);
	emit_mov_gs_reg(e, T_BITS, TW_RCX);
	emit_state(e, BITS_TOLD, flags | STATE_SPILL);
	emit_bytes(e, "\x65\x8b\x0c\x25", 4); /* mov ecx, gs:[upper half of the bits]: not 0 if the group is complete */
	emit_32(e, T_BITS + 4);
	emit_bytes(e, "\xe3", 1); /* jrcxz over what follows */
	u8 *over = e->at;
	emit_8(e, 0);
	emit_switch(e, flags);
	*over = (u8)(e->at - (over + 1));
	emit_state(e, BITS_TOLD, flags | STATE_SPILL);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_S);
	emit_state(e, BITS_TOLD, flags);
	return BITS_TOLD;
}

void tw_bit_emit_target(struct emit *e, u32 tag, u32 flags)
{
	emit_mov_mem32_imm(e, BUF_REG, 0, tag);
	emit_lea(e, BUF_REG, BUF_REG, sizeof tag);
	emit_state(e, BITS_TOLD, flags);
}

/* Values that instructions give registers, if replay can compute them: sums, differences, shifts, products, extensions. */
#include "engine/x86_64/decoding.h"

static bool is_gpr_operand(const ZydisDecodedOperand *o, u16 size)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->size == size && tw_decoding_gpr(o->reg.value) != TW_NOREG;
}

/* dst = base `what` index, or disp for the index. */
static void add_calc(struct decoding *w, u8 what, u8 dst, u8 base, u8 index, i64 disp, bool is32)
{
	struct tw_op *op = tw_decoding_set(w, dst, base, disp, is32);
	op->kind = TW_OP_CALC;
	op->type = what;
	op->index = index;
}

/* dst = dst `what` the other operand, a register or a constant. */
static void add_binary(struct decoding *w, u8 what, u8 dst, const ZydisDecodedOperand *s, bool is32)
{
	if (s->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		add_calc(w, what, dst, dst, TW_NOREG, s->imm.value.s, is32);
	else if (is_gpr_operand(s, is32 ? 32 : 64))
		add_calc(w, what, dst, dst, tw_decoding_gpr(s->reg.value), 0, is32);
}

/* From the lowest bits of another register (not the second-lowest eight). */
static void add_extension(struct decoding *w, u8 dst, const ZydisDecodedOperand *s, bool is_signed, bool is32)
{
	if (!is_gpr_operand(s, s->size) || (s->reg.value >= ZYDIS_REGISTER_AH && s->reg.value <= ZYDIS_REGISTER_BH))
		return;
	u8 what = s->size == 32   ? TW_CALC_SX32
	          : s->size == 16 ? (is_signed ? TW_CALC_SX16 : TW_CALC_ZX16)
	          : is_signed     ? TW_CALC_SX8
	                          : TW_CALC_ZX8;
	if (s->size == 32 && is32) /* movsxd of 32 bits is a mov */
		tw_decoding_set(w, dst, tw_decoding_gpr(s->reg.value), 0, true);
	else
		add_calc(w, what, dst, tw_decoding_gpr(s->reg.value), TW_NOREG, 0, is32);
}

static void add_shift(struct decoding *w, u8 what, u8 dst, const ZydisDecodedOperand *s, bool is32)
{
	if (s->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		add_calc(w, what, dst, dst, TW_NOREG, s->imm.value.s, is32);
}

static void add_product(struct decoding *w, u8 dst, bool is32)
{
	const ZydisDecodedOperand *s = &w->o[1];
	if (w->z->operand_count_visible == 2)
		add_binary(w, TW_CALC_MUL, dst, s, is32);
	else if (w->z->operand_count_visible == 3 && is_gpr_operand(s, is32 ? 32 : 64) && w->o[2].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		add_calc(w, TW_CALC_MUL, dst, tw_decoding_gpr(s->reg.value), TW_NOREG, w->o[2].imm.value.s, is32);
}

static void add_lea(struct decoding *w, u8 dst, bool is32)
{
	struct tw_op *op = tw_decoding_set(w, dst, TW_NOREG, 0, is32);
	tw_decoding_address(op, w, &w->o[1]);
	op->seg = TW_SEG_NONE;
	if (w->o[1].mem.base == ZYDIS_REGISTER_RIP && w->z->address_width == 64) {
		w->i->lea_reg = dst;
		w->i->lea32 = is32;
	}
}

/* dst and another operand. */
static void decode_binary(struct decoding *w, u8 dst, const ZydisDecodedOperand *s, bool is32)
{
	bool imm = s->type == ZYDIS_OPERAND_TYPE_IMMEDIATE, reg = is_gpr_operand(s, is32 ? 32 : 64),
	     same = reg && tw_decoding_gpr(s->reg.value) == dst;
	ZydisMnemonic mnemonic = w->z->mnemonic;
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (imm || reg)
			tw_decoding_set(w, dst, reg ? tw_decoding_gpr(s->reg.value) : TW_NOREG, imm ? s->imm.value.s : 0, is32);
		return;
	case ZYDIS_MNEMONIC_ADD:
		if (imm || reg)
			tw_decoding_set(w, dst, dst, imm ? s->imm.value.s : 0, is32)->index =
			    reg ? tw_decoding_gpr(s->reg.value) : TW_NOREG;
		return;
	case ZYDIS_MNEMONIC_SUB:
		if (imm || same)
			tw_decoding_set(w, dst, imm ? dst : TW_NOREG, imm ? -s->imm.value.s : 0, is32);
		else
			add_binary(w, TW_CALC_SUB, dst, s, is32);
		return;
	case ZYDIS_MNEMONIC_XOR:
		if (same)
			tw_decoding_set(w, dst, TW_NOREG, 0, is32);
		else
			add_binary(w, TW_CALC_XOR, dst, s, is32);
		return;
	case ZYDIS_MNEMONIC_AND:
		add_binary(w, TW_CALC_AND, dst, s, is32);
		return;
	case ZYDIS_MNEMONIC_OR:
		add_binary(w, TW_CALC_OR, dst, s, is32);
		return;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
		add_shift(w,
		          mnemonic == ZYDIS_MNEMONIC_SHL   ? TW_CALC_SHL
		          : mnemonic == ZYDIS_MNEMONIC_SHR ? TW_CALC_SHR
		                                           : TW_CALC_SAR,
		          dst, s, is32);
		return;
	case ZYDIS_MNEMONIC_MOVZX:
		add_extension(w, dst, s, false, is32);
		return;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		add_extension(w, dst, s, true, is32);
		return;
	default:
		return;
	}
}

void tw_decoding_updates(struct decoding *w)
{
	u16 size = w->z->operand_width;
	const ZydisDecodedOperand *d = &w->o[0];
	bool is32 = size == 32;
	if (w->z->mnemonic == ZYDIS_MNEMONIC_CDQE)
		add_calc(w, TW_CALC_SX32, TW_RAX, TW_RAX, TW_NOREG, 0, false);
	if ((size != 32 && size != 64) || !w->z->operand_count_visible || !is_gpr_operand(d, size))
		return;
	u8 dst = tw_decoding_gpr(d->reg.value);
	switch (w->z->mnemonic) {
	case ZYDIS_MNEMONIC_INC:
		tw_decoding_set(w, dst, dst, 1, is32);
		return;
	case ZYDIS_MNEMONIC_DEC:
		tw_decoding_set(w, dst, dst, -1, is32);
		return;
	case ZYDIS_MNEMONIC_LEA:
		add_lea(w, dst, is32);
		return;
	case ZYDIS_MNEMONIC_IMUL:
		add_product(w, dst, is32);
		return;
	default:
		if (w->z->operand_count_visible > 1)
			decode_binary(w, dst, &w->o[1], is32);
	}
}

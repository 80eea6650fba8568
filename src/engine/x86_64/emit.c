#include "engine/x86_64/emit.h"
#include "engine/x86_64/decode.h"

void emit_bytes(struct emit *e, const void *p, u32 n)
{
	memcpy(e->at, p, n);
	e->at += n;
}

void emit_8(struct emit *e, u8 v)
{
	*e->at++ = v;
}

static void emit_16(struct emit *e, u16 v)
{
	emit_bytes(e, &v, 2);
}

void emit_32(struct emit *e, u32 v)
{
	emit_bytes(e, &v, 4);
}

static void emit_64(struct emit *e, u64 v)
{
	emit_bytes(e, &v, 8);
}

/* REX with W, and R and B from the two registers. */
static void emit_rex_w(struct emit *e, u8 reg, u8 rm)
{
	emit_8(e, (u8)(0x48 | (reg >> 3) << 2 | rm >> 3));
}

/* ModRM (and SIB) for [base + disp]; the shortest displacement. */
static void emit_modrm_mem(struct emit *e, u8 reg, u8 base, i32 disp)
{
	u8 mod = disp == 0 && (base & 7) != TW_RBP ? 0 : disp == (int8_t)disp ? 1 : 2;
	emit_8(e, (u8)(mod << 6 | (reg & 7) << 3 | (base & 7)));
	if ((base & 7) == TW_RSP)
		emit_8(e, 0x24);
	if (mod == 1)
		emit_8(e, (u8)disp);
	else if (mod == 2)
		emit_32(e, (u32)disp);
}

/* op reg, gs:[slot] */
static void emit_gs(struct emit *e, u8 op, u8 reg, u32 slot)
{
	emit_8(e, 0x65);
	emit_rex_w(e, reg, 0);
	emit_8(e, op);
	emit_8(e, (u8)(0x04 | (reg & 7) << 3));
	emit_8(e, 0x25);
	emit_32(e, slot);
}

void emit_mov_gs_reg(struct emit *e, u32 slot, u8 reg)
{
	emit_gs(e, 0x89, reg, slot);
}

void emit_mov_reg_gs(struct emit *e, u8 reg, u32 slot)
{
	emit_gs(e, 0x8b, reg, slot);
}

void emit_mov_gs_imm(struct emit *e, u32 slot, u32 imm)
{
	emit_bytes(e, "\x65\xc7\x04\x25", 4);
	emit_32(e, slot);
	emit_32(e, imm);
}

void emit_inc_gs(struct emit *e, u32 slot)
{
	emit_gs(e, 0xff, 0, slot);
}

void emit_mov_mem_reg(struct emit *e, u8 base, i32 disp, u8 reg)
{
	emit_rex_w(e, reg, base);
	emit_8(e, 0x89);
	emit_modrm_mem(e, reg, base, disp);
}

void emit_mov_reg_mem(struct emit *e, u8 reg, u8 base, i32 disp)
{
	emit_rex_w(e, reg, base);
	emit_8(e, 0x8b);
	emit_modrm_mem(e, reg, base, disp);
}

void emit_mov_reg_reg(struct emit *e, u8 dst, u8 src)
{
	emit_rex_w(e, src, dst);
	emit_8(e, 0x89);
	emit_8(e, (u8)(0xc0 | (src & 7) << 3 | (dst & 7)));
}

void emit_mov_reg_imm(struct emit *e, u8 reg, u64 imm)
{
	if (imm == (u32)imm) {
		if (reg >= 8)
			emit_8(e, 0x41);
		emit_8(e, (u8)(0xb8 | (reg & 7)));
		emit_32(e, (u32)imm);
		return;
	}
	emit_rex_w(e, 0, reg);
	emit_8(e, (u8)(0xb8 | (reg & 7)));
	emit_64(e, imm);
}

void emit_mov_mem32_imm(struct emit *e, u8 base, i32 disp, u32 imm)
{
	if (base >= 8)
		emit_8(e, 0x41);
	emit_8(e, 0xc7);
	emit_modrm_mem(e, 0, base, disp);
	emit_32(e, imm);
}

void emit_mov_mem16_imm(struct emit *e, u8 base, i32 disp, u16 imm)
{
	emit_8(e, 0x66);
	if (base >= 8)
		emit_8(e, 0x41);
	emit_8(e, 0xc7);
	emit_modrm_mem(e, 0, base, disp);
	emit_16(e, imm);
}

void emit_lea(struct emit *e, u8 reg, u8 base, i32 disp)
{
	emit_rex_w(e, reg, base);
	emit_8(e, 0x8d);
	emit_modrm_mem(e, reg, base, disp);
}

void emit_load_address(struct emit *e, u8 reg, const struct tw_op *a, bool load)
{
	bool has_base = a->base != TW_NOREG, has_index = a->index != TW_NOREG;
	if (a->disp != (i32)a->disp) { /* absolute, far */
		emit_mov_reg_imm(e, reg, (u64)a->disp);
		if (load)
			emit_mov_reg_mem(e, reg, reg, 0);
		return;
	}
	if (a->seg == TW_SEG_FS && load)
		emit_8(e, 0x64);
	if (a->flags & TW_OPF_ADDR32)
		emit_8(e, 0x67);
	u8 base = has_base ? a->base : 0, index = has_index ? a->index : 0;
	emit_8(e, (u8)(0x48 | (reg >> 3) << 2 | (has_index ? index >> 3 : 0) << 1 | (has_base ? base >> 3 : 0)));
	emit_8(e, load ? 0x8b : 0x8d);
	if (has_base && !has_index) {
		emit_modrm_mem(e, reg, base, (i32)a->disp);
		return;
	}
	emit_8(e, (u8)((has_base ? 2 : 0) << 6 | (reg & 7) << 3 | 4));
	emit_8(e, (u8)(a->scale << 6 | (has_index ? index & 7 : 4) << 3 | (has_base ? base & 7 : 5)));
	emit_32(e, (u32)a->disp);
}

void emit_lea_sum(struct emit *e, u8 dst, u8 reg)
{
	emit_8(e, (u8)(0x48 | (dst >> 3) * 5 | (reg >> 3) << 1));
	emit_8(e, 0x8d);
	emit_8(e, (u8)(0x44 | (dst & 7) << 3));
	emit_8(e, (u8)((reg & 7) << 3 | (dst & 7)));
	emit_8(e, 0);
}

void emit_store_vector(struct emit *e, u8 base, i32 disp, u8 kind, u8 reg)
{
	u8 b = (u8)(base >> 3 ? 0 : 0x20); /* inverted B of VEX and EVEX */
	u8 r = (u8)(reg >> 3 & 1 ? 0 : 0x80);
	switch (kind) {
	case VEC_K: /* kmovq [m], k */
		emit_8(e, 0xc4);
		emit_8(e, (u8)(0xc1 | b));
		emit_8(e, 0xf8);
		emit_8(e, 0x91);
		break;
	case VEC_MMX: /* movq [m], mm */
		emit_8(e, (u8)(0x40 | base >> 3));
		emit_8(e, 0x0f);
		emit_8(e, 0x7f);
		break;
	case VEC_XMM:
	case VEC_YMM:
		if (reg < 16) { /* vmovdqu [m], xmm/ymm */
			emit_8(e, 0xc4);
			emit_8(e, (u8)(0x41 | r | b));
			emit_8(e, kind == VEC_YMM ? 0x7e : 0x7a);
			emit_8(e, 0x7f);
			break;
		}
		/* fall through */
	default: /* vmovdqu64 [m], vector: EVEX, with a full 32-bit displacement */
		emit_8(e, 0x62);
		emit_8(e, (u8)(0x41 | r | b | (reg >> 4 ? 0 : 0x10)));
		emit_8(e, 0xfe);
		emit_8(e, kind == VEC_ZMM ? 0x48 : kind == VEC_YMM ? 0x28 : 0x08);
		emit_8(e, 0x7f);
		break;
	}
	emit_8(e, (u8)(0x80 | (reg & 7) << 3 | (base & 7)));
	if ((base & 7) == TW_RSP)
		emit_8(e, 0x24);
	emit_32(e, (u32)disp);
}

void emit_patch(u8 *rel32, const u8 *target)
{
	__atomic_store_n((u32 *)rel32, (u32)(target - (rel32 + 4)), __ATOMIC_RELAXED);
}

void emit_jmp(struct emit *e, const u8 *target)
{
	emit_8(e, 0xe9);
	e->at += 4;
	emit_patch(e->at - 4, target);
}

/* Aligns so that the 4 bytes after the next `opcode` bytes do not cross a cache line: a store that patches them is then seen whole. */
static void emit_align_patch(struct emit *e, u32 opcode)
{
	while (((u64)(e->at + opcode) & 63) > 60)
		emit_8(e, 0x90);
}

u8 *emit_jmp_patchable(struct emit *e)
{
	emit_align_patch(e, 1);
	emit_8(e, 0xe9);
	e->at += 4;
	return e->at - 4;
}

u8 *emit_jcc_patchable(struct emit *e, u8 cc)
{
	emit_align_patch(e, 2);
	emit_8(e, 0x0f);
	emit_8(e, (u8)(0x80 | cc));
	e->at += 4;
	return e->at - 4;
}

void emit_state(struct emit *e, u8 insn, u32 flags)
{
	u16 offset = (u16)(e->at - e->start);
	e->now.offset = offset;
	e->now.insn = insn;
	e->now.path = e->path;
	e->now.flags = flags | e->passed;
	if (e->n_states && e->state[e->n_states - 1].offset == offset)
		e->n_states--; /* nothing was emitted under it */
	if (e->n_states < STATE_MOST)
		e->state[e->n_states++] = e->now;
}

void emit_spill(struct emit *e, u8 insn, u8 reg, u32 flags)
{
	emit_mov_gs_reg(e, T_SLOT_S, reg);
	e->now.spill = reg & 15;
	emit_state(e, insn, flags | STATE_SPILL);
}

void emit_unspill(struct emit *e, u8 insn, u8 reg, u32 flags)
{
	emit_state(e, insn, flags | STATE_SPILL);
	emit_mov_reg_gs(e, reg, T_SLOT_S);
}

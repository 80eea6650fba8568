#include "engine/code/relocate.h"
#include "engine/code/room.h"
#include "engine/x86_64/decode.h"

#define PREFIX_DS 0x3e /* without meaning in 64-bit mode, but for branches */
#define XLAT      0xd7

static bool reaches(u64 target, u64 from)
{
	i64 d = (i64)(target - from);
	return d == (i32)d;
}

/* The instruction with its memory operand replaced by [reg] (reg below r8, not rsp, rbp); %gs and address-size prefixes neutralized. */
static void emit_with_base(struct emit *e, const struct insn *i, u8 reg)
{
	u8 raw[16];
	u8 modrm = i->raw[i->modrm_at], mod = modrm >> 6, rm = modrm & 7;
	u8 sib = rm == 4 ? 1 : 0;
	u8 sib_base5 = sib && (i->raw[i->modrm_at + 1] & 7) == 5;
	u8 disp = mod == 1 ? 1 : mod == 2 || (mod == 0 && (rm == 5 || sib_base5)) ? 4 : 0;
	u8 rest = (u8)(i->modrm_at + 1 + sib + disp);
	memcpy(raw, i->raw, sizeof raw);
	if (i->prefix_kind == PREFIX_REX)
		raw[i->rex_at - 1] &= (u8)~3;
	else if (i->prefix_kind == PREFIX_VEX3 || i->prefix_kind == PREFIX_EVEX)
		raw[i->rex_at] |= 0x60;
	for (u8 k = 0; k < i->n_prefixes; k++)
		if (raw[k] == 0x65 || raw[k] == 0x67 || (i->uses_gs && raw[k] == 0x64))
			raw[k] = PREFIX_DS;
	emit_bytes(e, raw, i->modrm_at);
	emit_8(e, (u8)((modrm & 0x38) | reg));
	emit_bytes(e, raw + rest, (u32)(i->len - rest));
}

/* A rip-relative operand that code in the cache cannot reach. */
static void emit_far(struct emit *e, const struct insn *i, unsigned k)
{
	u32 flags = e->now.flags;
	u8 s = tw_scratch(i, e->buf, TW_NOREG);
	emit_spill(e, (u8)k, s, flags);
	emit_mov_reg_imm(e, s, i->target);
	emit_with_base(e, i, s);
	emit_unspill(e, (u8)(k + 1), s, flags);
}

/*
 * Offset of the opcode of an instruction without ModRM that nevertheless has a memory operand: mov of an absolute
 * address, xlat. 0: another instruction.
 */
static u8 implicit_opcode(const struct insn *i)
{
	u8 at = i->n_prefixes;
	if ((i->raw[at] & 0xf0) == 0x40)
		at++;
	return (i->raw[at] & 0xfc) == 0xa0 || i->raw[at] == XLAT ? at : 0;
}

/* Emits such an instruction as mov with [reg], where its operand is. */
static void emit_implicit(struct emit *e, const struct insn *i, u8 reg)
{
	const u8 at = implicit_opcode(i), op = i->raw[at], before = i->raw[at - 1];
	for (u8 k = 0; k < at; k++)
		if (i->raw[k] == 0x66)
			emit_8(e, 0x66);
	if ((before & 0xf0) == 0x40)
		emit_8(e, before & 0x48);
	emit_8(e, op == XLAT ? 0x8a : (u8)(0x88 | (op & 1) | (op & 2 ? 0 : 2)));
	emit_8(e, reg);
}

/* The operand's address without the segment's base; xlat's index has 8 bits. */
static void emit_offset(struct emit *e, u8 reg, const struct tw_op *op)
{
	if (!(op->flags & TW_OPF_INDEX8)) {
		emit_load_address(e, reg, op, false);
		return;
	}
	emit_bytes(e, "\x0f\xb6", 2); /* movzx reg, al */
	emit_8(e, (u8)(0xc0 | reg << 3));
	emit_lea_sum(e, reg, op->base);
	if (op->flags & TW_OPF_ADDR32)
		emit_bytes(e, (const u8[]){0x89, (u8)(0xc0 | reg << 3 | reg)}, 2); /* mov reg32, reg32 */
}

/* An operand relative to the application's %gs base. String instructions are not handled. */
static void emit_gs_operand(struct emit *e, const struct block *b, unsigned k)
{
	const struct insn *i = &b->insn[k];
	u32 flags = e->now.flags;
	u8 s = tw_scratch(i, e->buf, TW_NOREG), s2 = tw_scratch(i, e->buf, s);
	const struct tw_op *op = NULL;
	for (u16 n = 0; n < i->n_ops && !op; n++)
		if (b->op[i->first_op + n].op.seg == TW_SEG_GS)
			op = &b->op[i->first_op + n].op;
	if (!op || (!i->modrm_at && !implicit_opcode(i)) || s2 == TW_NOREG) {
		tw_engine_fail(TW_FAILURE_ENGINE, "an instruction at %lx uses %%gs in a way that is not supported", (unsigned long)i->pc);
		emit_bytes(e, "\x0f\x0b", 2);
		return;
	}
	emit_spill(e, (u8)k, s, flags);
	emit_mov_gs_reg(e, T_SLOT_S2, s2);
	e->now.spill2 = s2 & 15;
	emit_state(e, (u8)k, flags | STATE_SPILL | STATE_SPILL2);
	emit_offset(e, s, op);
	emit_mov_reg_gs(e, s2, T_APP_GS);
	emit_bytes(e, "\x48\x8d", 2); /* lea s, [s + s2] */
	emit_8(e, (u8)(0x04 | s << 3));
	emit_8(e, (u8)(s2 << 3 | s));
	if (i->modrm_at)
		emit_with_base(e, i, s);
	else
		emit_implicit(e, i, s);
	emit_state(e, (u8)(k + 1), flags | STATE_SPILL | STATE_SPILL2);
	emit_mov_reg_gs(e, s2, T_SLOT_S2);
	emit_unspill(e, (u8)(k + 1), s, flags);
}

/*
 * The instruction with %ds for %gs, which is equivalent while the application's base is 0. (Removing the prefix could
 * move a REX prefix before it, which has no effect there, next to the opcode.) A %fs prefix before it, which the %gs
 * one overrode, would then take effect: it is replaced, too.
 */
static struct insn without_gs(const struct insn *i)
{
	struct insn n = *i;
	for (u8 k = 0; k < i->n_prefixes; k++)
		if (n.raw[k] == 0x65 || n.raw[k] == 0x64)
			n.raw[k] = PREFIX_DS;
	return n;
}

static void emit_at_home(struct emit *e, const struct insn *i, unsigned k)
{
	if (i->lea_reg != TW_NOREG) {
		emit_mov_reg_imm(e, i->lea_reg, i->lea32 ? (u32)i->target : i->target);
	} else if (!i->disp_at) {
		emit_bytes(e, i->raw, i->len);
	} else if (reaches(i->target, (u64)e->at + i->len)) {
		u32 disp = (u32)(i->target - ((u64)e->at + i->len));
		emit_bytes(e, i->raw, i->len);
		memcpy(e->at - i->len + i->disp_at, &disp, 4);
	} else {
		emit_far(e, i, k);
	}
}

void tw_relocate(struct emit *e, const struct block *b, unsigned k)
{
	const struct insn *i = &b->insn[k];
	if (!i->uses_gs) {
		emit_at_home(e, i, k);
	} else if (!tw_translator.gs_used) {
		struct insn plain = without_gs(i);
		emit_at_home(e, &plain, k);
	} else {
		emit_gs_operand(e, b, k);
	}
}

#include "engine/code/lookup.h"
#include "engine/code/make.h"
#include "engine/record/bits_code.h"
#include "engine/record/instrumentor.h"

#define LOOKUP_STATE (STATE_NOT_OPEN | STATE_CLOSED | STATE_DONE)

static void emit_upper(struct emit *e, const struct fragment *to)
{
	if (!tw_tags_used()) {
		emit_mov_mem32_imm(e, BUF_REG, 0, (u32)to->rec.upper_in << 16 | TW_TAG_UPPER);
		emit_lea(e, BUF_REG, BUF_REG, TW_ESCAPE_BYTES);
		return;
	}
	emit_mov_mem32_imm(e, BUF_REG, 0, (u32)to->rec.upper_in << 16);
	emit_lea(e, BUF_REG, BUF_REG, TW_ESCAPE_BYTES);
	emit_mov_gs_imm(e, T_UPPER, to->rec.upper_in);
}

/* Tagged form: the origin of an indirect branch is unknown, so the current upper half is compared. Flags are preserved. */
static void emit_upper_tested(struct emit *e, const struct fragment *to)
{
	emit_mov_gs_reg(e, T_SLOT_RCX, TW_RCX);
	emit_state(e, 0, LOOKUP_STATE | STATE_RCX_SLOT | STATE_PC_FALL);
	emit_bytes(e, "\x65\x8b\x0c\x25", 4); /* mov ecx, gs:[upper] */
	emit_32(e, T_UPPER);
	emit_bytes(e, "\x8d\x89", 2); /* lea ecx, [rcx - upper_in] */
	emit_32(e, -(u32)to->rec.upper_in);
	emit_bytes(e, "\xe3", 1); /* jrcxz to the end */
	u8 *same = e->at;
	emit_8(e, 0);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_RCX);
	emit_state(e, 0, LOOKUP_STATE | STATE_PC_FALL);
	emit_upper(e, to);
	*same = (u8)(e->at - (same + 1));
	emit_state(e, 0, LOOKUP_STATE | STATE_RCX_SLOT | STATE_PC_FALL);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_RCX);
}

struct fragment *tw_bridge_make(struct fragment *to)
{
	struct fragment *f = tw_make_new(FRAGMENT_BRIDGE, to->rec.pc);
	struct emit *e = tw_make_begin(f, NULL);
	if (!e)
		return NULL;
	f->target = to;
	f->rec.number = to->rec.number;
	f->rec.upper_in = to->rec.upper_in;
	emit_state(e, 0, STATE_NOT_OPEN | STATE_CLOSED);
	emit_upper(e, to);
	emit_jmp(e, to->rec.map.code);
	tw_make_finish(f, NULL);
	return f;
}

/* ---- lookups ---- */

/* rcx += by, flags untouched; may use r10. */
static void emit_move_rcx(struct emit *e, u64 by)
{
	if ((i64)by == (i32)by) {
		emit_bytes(e, "\x48\x8d\x89", 3); /* lea rcx, [rcx + disp32] */
		emit_32(e, (u32)by);
		return;
	}
	emit_mov_reg_imm(e, TW_R10, by);
	emit_bytes(e, "\x4a\x8d\x0c\x11", 4); /* lea rcx, [rcx + r10] */
}

/*
 * Goes back to `miss`, with rcx = target - pc, unless rcx, the target, is pc; flags untouched. On a match no branch
 * may be taken: with a taken branch in every lookup large programs exhaust the branch target buffer. So `loop` where
 * it is fast (AMD), otherwise jrcxz.
 */
static void emit_check(struct emit *e, u64 pc, const u8 *miss, u32 flags)
{
	emit_move_rcx(e, tw_engine.fast_loop ? 1 - pc : -pc);
	emit_state(e, 0, flags | (tw_engine.fast_loop ? STATE_OFF_BY_ONE : 0));
	if (tw_engine.fast_loop)
		emit_8(e, 0xe2); /* loop miss */
	else
		emit_bytes(e, "\xe3\x02\xeb", 3); /* jrcxz over jmp miss */
	emit_8(e, (u8)(miss - (e->at + 1)));
}

/* Both kinds of lookup start with their code for a mismatch; the entry follows it. */
static u8 *emit_lookup_of_jump(struct emit *e, u64 pc, const u8 *next)
{
	const u16 slots = LOOKUP_STATE | STATE_RCX_SLOT | STATE_R10_SLOT;
	const u8 *miss = e->at;
	emit_state(e, 0, slots | STATE_PC_RCX_PLUS);
	emit_move_rcx(e, pc);
	emit_state(e, 0, slots | STATE_PC_RCX);
	emit_jmp(e, next);
	u8 *entry = e->at;
	emit_check(e, pc, miss, slots | STATE_PC_RCX_PLUS);
	emit_state(e, 0, slots | STATE_PC_FALL);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_RCX);
	emit_state(e, 0, LOOKUP_STATE | STATE_R10_SLOT | STATE_PC_FALL);
	emit_mov_reg_gs(e, TW_R10, T_SLOT_R10);
	return entry;
}

static u8 *emit_lookup_of_return(struct emit *e, u64 pc, const u8 *next)
{
	const u16 slots = LOOKUP_STATE | STATE_RCX_SLOT | STATE_PC_STACK;
	const bool near = (i64)-pc == (i32)-pc;
	const u8 *miss = e->at;
	emit_state(e, 0, slots | (near ? 0 : STATE_R10_SLOT));
	if (!near)
		emit_mov_reg_gs(e, TW_R10, T_SLOT_R10);
	emit_state(e, 0, slots);
	emit_jmp(e, next);
	u8 *entry = e->at;
	emit_mov_reg_mem(e, TW_RCX, TW_RSP, 0);
	if (!near) /* the check takes a second register */
		emit_mov_gs_reg(e, T_SLOT_R10, TW_R10);
	emit_state(e, 0, slots | (near ? 0 : STATE_R10_SLOT));
	emit_check(e, pc, miss, slots | (near ? 0 : STATE_R10_SLOT));
	if (!near)
		emit_mov_reg_gs(e, TW_R10, T_SLOT_R10);
	emit_state(e, 0, slots);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_RCX);
	emit_state(e, 0, LOOKUP_STATE | STATE_PC_STACK);
	emit_lea(e, TW_RSP, TW_RSP, 8);
	return entry;
}

struct fragment *tw_lookup_make(struct fragment *to, const struct exit *x, const u8 *next, bool adjacent)
{
	const u8 kind = tw_exit_lookup_kind(x);
	struct fragment *f = tw_make_new(FRAGMENT_LOOKUP, to->rec.pc);
	struct emit *e = tw_make_begin(f, NULL);
	if (!e)
		return NULL;
	f->target = to;
	if (tw_recorder.whole->records)
		f->rec.number = to->rec.number;
	f->rec.upper_in = to->rec.upper_in;
	f->miss = next;
	f->lookup_kind = kind;
	f->upper_from = x->upper;
	f->site = x->context;
	f->next_lookup = to->lookups;
	to->lookups = f;
	f->entry = kind == LOOKUP_RETURN ? emit_lookup_of_return(e, to->rec.pc, next) : emit_lookup_of_jump(e, to->rec.pc, next);
	emit_state(e, 0, LOOKUP_STATE | STATE_PC_FALL);
	if (tw_bits_used())
		tw_bit_emit_target(e, to->rec.tag, LOOKUP_STATE | STATE_PC_FALL);
	else if (tw_tags_used() && !to->rec.any_upper)
		emit_upper_tested(e, to);
	else if (tw_instr()->records && !tw_upper_fits(&to->rec, x->upper))
		emit_upper(e, to);
	if (!tw_bits_used())
		emit_state(e, 0, LOOKUP_STATE | STATE_PC_FALL);
	if (!adjacent)
		emit_jmp(e, to->rec.map.code);
	tw_make_finish(f, NULL);
	return f;
}

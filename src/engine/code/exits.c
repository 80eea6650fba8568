#include "engine/code/exits.h"
#include "engine/record/bits_code.h"
#include "engine/code/close.h"
#include "engine/code/loop.h"
#include "engine/code/tables.h"
#include "engine/record/stamp.h"

/* Side exits of the fragment being made, path 1 first: one translation at a time. */
struct side {
	u8 *rel32;
	u8 insn;
};
static struct side side[BLOCK_MAX_PARTS];
static unsigned n_sides;

/*
 * Leaves so that the dispatcher performs instruction `last`, which has not run: a signal that arrives before the
 * dispatcher is reached interrupts before it.
 */
static void emit_exit_before(struct emit *e, u8 last, u64 pc, u8 kind, u32 context)
{
	tw_close_record(e, last, 0);
	emit_state(e, last, STATE_CLOSED);
	e->f->last_exit = tw_close_exit(e, emit_jmp_patchable(e), pc, kind, context);
}

/* Does the path return from call k, so that no lookup is needed for it? */
static bool returns_within(const struct block *b, unsigned k)
{
	unsigned depth = 0;
	for (; k + 1 < b->n_insns; k++) {
		const u8 kind = b->insn[k].kind;
		depth += kind == INSN_CALL;
		depth -= kind == INSN_RETURN;
		if (!depth && kind == INSN_RETURN)
			return true;
	}
	return false;
}

/*
 * Prefetches the entry of the lookup table that the return to `next` will read. Returns of large programs are
 * predicted badly, and the load of this entry is what reveals the misprediction, so it should hit the first-level
 * cache.
 */
static void emit_prefetch_lookup(struct emit *e, u64 next)
{
	emit_bytes(e, "\x0f\x18\x0c\x25", 4); /* prefetcht0 [disp32] */
	emit_32(e, (u32)(u64)tw_table_slot(next, e->f->rec.upper_out, LOOKUP_RETURN, 0));
}

/* What call k pushes. */
static void emit_push_return(struct emit *e, const struct block *b, unsigned k, u32 flags)
{
	u64 next = b->insn[k].pc + b->insn[k].len;
	if (!returns_within(b, k) && !tw_sites_used())
		emit_prefetch_lookup(e, next);
	if (next < 0x80000000u) {
		emit_8(e, 0x68); /* push imm32 */
		emit_32(e, (u32)next);
		return;
	}
	emit_state(e, (u8)k, flags);
	emit_mov_mem32_imm(e, TW_RSP, -8, (u32)next);
	emit_mov_mem32_imm(e, TW_RSP, -4, (u32)(next >> 32));
	emit_lea(e, TW_RSP, TW_RSP, -8);
}

static void emit_indirect_target(struct emit *e, const struct tw_op *ea, u8 last, u32 flags)
{
	if (ea->kind == TW_OP_SET) {
		emit_mov_reg_reg(e, TW_RCX, ea->base);
	} else if (ea->disp != (i32)ea->disp && ea->seg != TW_SEG_GS) { /* absolute, far */
		emit_mov_reg_imm(e, TW_RCX, (u64)ea->disp);
		emit_state(e, last, flags | STATE_RCX_SLOT);
		emit_mov_reg_mem(e, TW_RCX, TW_RCX, 0);
	} else if (ea->seg != TW_SEG_GS) {
		emit_load_address(e, TW_RCX, ea, true);
	} else {
		emit_load_address(e, TW_RCX, ea, false);
		emit_state(e, last, flags | STATE_RCX_SLOT);
		emit_mov_reg_gs(e, TW_R10, T_APP_GS);
		emit_state(e, last, flags | STATE_RCX_SLOT | STATE_R10_SLOT);
		emit_bytes(e, "\x4a\x8b\x0c\x11", 4); /* mov rcx, [rcx + r10] */
	}
}

/* A branch that is a site passes its number to the dispatcher if no table has its target. Returns the number. */
static u32 emit_site(struct emit *e, u8 kind)
{
	if (!tw_sites_used())
		return 0;
	struct exit *site = tw_site_new(e->f, kind);
	emit_mov_gs_imm(e, T_FROM, (u32)(u64)site);
	return site->context;
}

/* Of a wide table, of the target in rcx; flags untouched. */
static void emit_wide_index(struct emit *e, u8 index)
{
	emit_8(e, 0xc4);
	emit_8(e, index < 8 ? 0xe2 : 0x62);
	emit_8(e, 0x72);
	emit_8(e, 0xf5);
	emit_8(e, (u8)(0x04 | (index & 7) << 3));
	emit_8(e, 0x25); /* pext index, ecx, [disp32] */
	emit_32(e, (u32)(u64)&tw_table_mask);
}

static void emit_table_jump(struct emit *e, u8 index, u8 kind, u32 site)
{
	u32 table = (u32)(u64)(tw_table_of(e->f->rec.upper_out, kind) + site);
	if (index >= 8)
		emit_8(e, 0x42);
	emit_bytes(e, "\xff\x24", 2);
	emit_8(e, (u8)(0xc5 | (index & 7) << 3)); /* [disp32 + index * 8] */
	emit_32(e, table);
}

/* jmp and call to a computed address, and returns that pop arguments: look the target up without leaving the cache. */
static void emit_indirect(struct emit *e, const struct block *b)
{
	const struct insn *i = &b->insn[b->n_insns - 1];
	u8 last = (u8)(b->n_insns - 1), done = (u8)b->n_insns;
	u32 flags = tw_close_swapped(e);
	emit_mov_gs_reg(e, T_SLOT_RCX, TW_RCX);
	emit_mov_gs_reg(e, T_SLOT_R10, TW_R10);
	if (i->kind == INSN_RETURN)
		emit_mov_reg_mem(e, TW_RCX, TW_RSP, 0);
	else
		emit_indirect_target(e, &i->ea, last, flags);
	flags |= STATE_RCX_SLOT | STATE_R10_SLOT;
	emit_state(e, last, flags);
	if (i->kind == INSN_RETURN)
		emit_lea(e, TW_RSP, TW_RSP, 8 + i->pop_bytes);
	else if (i->kind == INSN_ICALL)
		emit_push_return(e, b, last, flags);
	flags = STATE_RCX_SLOT | STATE_R10_SLOT | STATE_DONE | STATE_PC_RCX;
	emit_state(e, done, flags | tw_close_swapped(e));
	const u32 site = emit_site(e, EXIT_INDIRECT);
	tw_close_record(e, done, flags);
	emit_state(e, done, flags | STATE_CLOSED);
	if (tw_table_wide())
		emit_wide_index(e, TW_R10);
	else
		emit_bytes(e, "\x44\x0f\xb7\xd1", 4); /* movzx r10d, cx */
	emit_table_jump(e, TW_R10, LOOKUP_JUMP, site);
}

/* ret, instruction `last`: the lookup finds the whole target at [rsp], and pops it. */
static void emit_return(struct emit *e, u8 last)
{
	u32 flags = STATE_RCX_SLOT | STATE_DONE | STATE_PC_STACK;
	emit_mov_gs_reg(e, T_SLOT_RCX, TW_RCX);
	if (tw_table_wide())
		emit_bytes(e, "\x8b\x0c\x24", 3); /* mov ecx, [rsp] */
	else
		emit_bytes(e, "\x0f\xb7\x0c\x24", 4); /* movzx ecx, word [rsp] */
	emit_state(e, (u8)(last + 1), flags | tw_close_swapped(e));
	if (tw_table_wide())
		emit_wide_index(e, TW_RCX);
	const u32 site = emit_site(e, EXIT_RETURN);
	tw_close_record(e, (u8)(last + 1), flags);
	emit_state(e, (u8)(last + 1), flags | STATE_CLOSED);
	emit_table_jump(e, TW_RCX, LOOKUP_RETURN, site);
}

/* A jump whose target is filled in later; where. */
static u8 *emit_jump_to_come(struct emit *e)
{
	emit_8(e, 0xe9);
	emit_32(e, 0);
	return e->at - 4;
}

static u8 *emit_jcc_to_come(struct emit *e, u8 cc)
{
	emit_8(e, 0x0f);
	emit_8(e, (u8)(0x80 | cc));
	emit_32(e, 0);
	return e->at - 4;
}

/* Format cf_bit: both ways of a conditional branch whose jump, if taken, is at rel32, each with its bit. */
static void emit_two_ways(struct emit *e, const struct block *b, u8 *rel32, u32 context)
{
	const struct part *end = &b->part[b->n_parts - 1];
	u8 done = (u8)b->n_insns, told;
	told = tw_bit_emit(e, done, false, STATE_DONE | STATE_CLOSED | STATE_PC_FALL);
	tw_close_jump(e, told, end->next, EXIT_LINK, context, STATE_PC_FALL);
	emit_patch(rel32, e->at);
	told = tw_bit_emit(e, done, true, STATE_DONE | STATE_CLOSED);
	tw_close_jump(e, told, end->target, EXIT_LINK, context, 0);
}

/* loop and the like have short displacements only. */
static void emit_loop_of_bits(struct emit *e, const struct block *b, u32 context)
{
	const struct insn *i = &b->insn[b->n_insns - 1];
	emit_bytes(e, i->raw, (u32)(i->len - 1));
	emit_8(e, 5); /* over the first jmp */
	emit_state(e, (u8)b->n_insns, STATE_DONE | STATE_CLOSED | STATE_PC_FALL);
	u8 *fall = emit_jump_to_come(e);
	emit_state(e, (u8)b->n_insns, STATE_DONE | STATE_CLOSED);
	u8 *taken = emit_jump_to_come(e);
	emit_patch(fall, e->at);
	emit_two_ways(e, b, taken, context);
}

static void emit_loop(struct emit *e, const struct block *b, u32 context)
{
	const struct insn *i = &b->insn[b->n_insns - 1];
	u8 done = (u8)b->n_insns;
	emit_bytes(e, i->raw, (u32)(i->len - 1));
	u8 *rel8 = e->at;
	emit_8(e, 0);
	tw_close_jump(e, done, i->pc + i->len, EXIT_LINK, context, STATE_PC_FALL);
	*rel8 = (u8)(e->at - (rel8 + 1));
	tw_close_jump(e, done, i->target, EXIT_LINK, context, 0);
}

/* Instructions that fault by design run as they are; what cannot be decoded, or would leave for another code segment, is an illegal one. */
static void emit_bad(struct emit *e, const struct insn *i)
{
	const u8 *r = i->raw;
	bool as_is = r[0] == 0xcc || r[0] == 0xf1 || r[0] == 0xf4 || (r[0] == 0xcd && i->len == 2) || (r[0] == 0x0f && r[1] == 0x0b);
	if (as_is)
		emit_bytes(e, r, i->len);
	else
		emit_bytes(e, "\x0f\x0b", 2);
}

/* The end of the whole path. */
static void emit_end(struct emit *e, const struct block *b, u32 context)
{
	const struct part *end = &b->part[b->n_parts - 1];
	const struct insn *i = &b->insn[b->n_insns - 1];
	u8 last = (u8)(b->n_insns - 1), done = (u8)b->n_insns;
	if (e->f->rec.map.c_reg != TW_NOREG) {
		tw_loop_end(e, b, context);
		return;
	}
	switch (i->kind) {
	case INSN_JUMP:
		tw_close_record(e, done, STATE_DONE);
		tw_close_jump(e, done, end->target, EXIT_LINK, context, 0);
		return;
	case INSN_COND:
		tw_close_record(e, last, 0);
		emit_state(e, last, STATE_CLOSED);
		if (tw_bits_used()) {
			emit_two_ways(e, b, emit_jcc_to_come(e, i->cc), context);
			return;
		}
		tw_close_exit(e, emit_jcc_patchable(e, i->cc), end->target, EXIT_LINK, context)->is_jcc = true;
		tw_close_jump(e, done, end->next, EXIT_LINK, context, STATE_PC_FALL);
		return;
	case INSN_LOOP:
		tw_close_record(e, last, 0);
		emit_state(e, last, STATE_CLOSED);
		if (tw_bits_used())
			emit_loop_of_bits(e, b, context);
		else
			emit_loop(e, b, context);
		return;
	case INSN_CALL:
		emit_push_return(e, b, last, tw_close_swapped(e));
		emit_state(e, done, STATE_DONE | tw_close_swapped(e));
		tw_close_record(e, done, STATE_DONE);
		tw_close_jump(e, done, end->target, EXIT_LINK, context, 0);
		return;
	case INSN_RETURN:
		if (i->pop_bytes == 0) {
			emit_return(e, last);
			return;
		}
		/* fall through */
	case INSN_IJUMP:
	case INSN_ICALL:
		emit_indirect(e, b);
		return;
	case INSN_SYSCALL:
		emit_exit_before(e, last, end->next, tw_is_int(i) ? EXIT_INT80 : EXIT_SYSCALL, context);
		return;
	case INSN_EMULATED:
		emit_exit_before(e, last, i->pc, EXIT_EMULATE, context);
		return;
	case INSN_BAD:
		emit_bad(e, i);
		emit_state(e, done, STATE_DONE | STATE_PC_FALL | tw_close_swapped(e));
		/* fall through */
	default:
		tw_close_record(e, done, STATE_DONE | STATE_PC_FALL);
		if (e->f->rec.order)
			tw_stamp_emit(e, i, true, STATE_DONE | STATE_CLOSED | STATE_PC_FALL);
		tw_close_jump(e, done, end->next, EXIT_LINK, context, STATE_PC_FALL | (e->f->rec.order ? STATE_STAMPED : 0));
	}
}

/* ---- within a superblock ---- */

static bool is_near(u64 pc)
{
	return pc < 0x80000000u;
}

bool tw_exits_follows(const struct block *b, u16 k, u64 pc)
{
	const struct part *p = &b->part[k];
	const struct insn *last = &b->insn[p->first_insn + p->n_insns - 1];
	switch (last->kind) {
	case INSN_PLAIN:
		return pc == p->next;
	case INSN_JUMP:
	case INSN_CALL:
		return pc == p->target;
	case INSN_COND:
		return (pc == p->target || pc == p->next) && p->target != p->next;
	case INSN_RETURN:
		return last->pop_bytes == 0 && is_near(pc);
	default:
		return false;
	}
}

bool tw_exits_has_side(const struct block *b, unsigned k)
{
	return b->insn[k].kind == INSN_COND || b->insn[k].kind == INSN_RETURN;
}

/* The jump at rel32, of instruction k, leads to the next side exit. */
static void note_side(u8 *rel32, unsigned k)
{
	side[n_sides++] = (struct side){rel32, (u8)k};
}

/* Target of a conditional branch when it leaves the path. */
static u64 side_pc(const struct block *b, unsigned k)
{
	const struct insn *i = &b->insn[k];
	return b->insn[k + 1].pc == i->target ? i->pc + i->len : i->target;
}

static void emit_branch_within(struct emit *e, const struct block *b, unsigned k)
{
	const struct insn *i = &b->insn[k];
	note_side(emit_jcc_to_come(e, side_pc(b, k) == i->target ? i->cc : i->cc ^ 1), k);
}

/* Start of the part whose first instruction is number k. */
static u64 part_pc(const struct block *b, unsigned k)
{
	const struct part *p = b->part;
	while (p->first_insn != k)
		p++;
	return p->pc;
}

/* A return that the path expects to continue with instruction k + 1. Flags are preserved. */
static void emit_return_within(struct emit *e, const struct block *b, unsigned k)
{
	u32 flags = tw_close_swapped(e);
	emit_mov_gs_reg(e, T_SLOT_RCX, TW_RCX);
	emit_state(e, (u8)k, flags | STATE_RCX_SLOT);
	emit_mov_reg_mem(e, TW_RCX, TW_RSP, 0);
	emit_lea(e, TW_RCX, TW_RCX, -(i32)part_pc(b, k + 1));
	emit_bytes(e, "\xe3\x05\xe9", 3); /* jrcxz over jmp side */
	emit_32(e, 0);
	note_side(e->at - 4, k);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_RCX);
	emit_state(e, (u8)k, flags);
	emit_lea(e, TW_RSP, TW_RSP, 8);
	emit_state(e, (u8)(k + 1), flags);
}

void tw_exits_within(struct emit *e, const struct block *b, unsigned k)
{
	switch (b->insn[k].kind) {
	case INSN_CALL:
		emit_push_return(e, b, k, tw_close_swapped(e));
		emit_state(e, (u8)(k + 1), tw_close_swapped(e));
		return;
	case INSN_COND:
		emit_branch_within(e, b, k);
		return;
	case INSN_RETURN:
		emit_return_within(e, b, k);
		return;
	default:
		return;
	}
}

/* The record belongs to this exit: overwrites the number of the whole path. (0 stays: nobody reads on there.) */
static void emit_renumber(struct emit *e)
{
	if (e->f->rec.number)
		emit_mov_mem16_imm(e, e->buf, 0, (u16)(e->f->rec.number + e->path));
}

static void emit_side(struct emit *e, const struct block *b, const struct plan *p, const struct side *s)
{
	const bool is_return = b->insn[s->insn].kind == INSN_RETURN;
	u32 flags = tw_close_swapped(e);
	e->buf = e->f->rec.map.t_reg != TW_NOREG ? e->f->rec.map.t_reg : BUF_REG;
	e->passed = 0;
	emit_patch(s->rel32, e->at);
	emit_state(e, s->insn, flags | (is_return ? STATE_RCX_SLOT : 0));
	if (is_return)
		emit_mov_reg_gs(e, TW_RCX, T_SLOT_RCX);
	emit_state(e, s->insn, flags);
	emit_renumber(e);
	if (is_return) {
		emit_return(e, s->insn);
		return;
	}
	tw_close_record(e, s->insn, 0);
	tw_close_jump(e, (u8)(s->insn + 1), side_pc(b, s->insn), EXIT_LINK, p->after[s->insn].context, 0);
	if (e->f->rec.side[e->path - 1].upper)
		e->f->last_exit->upper = e->f->rec.side[e->path - 1].upper;
	e->f->last_exit = NULL;
}

void tw_exits_end(struct emit *e, const struct block *b, const struct plan *p)
{
	emit_end(e, b, p->after[b->n_insns - 1].context);
	for (e->path = 1; e->path <= n_sides; e->path++)
		emit_side(e, b, p, &side[e->path - 1]);
	n_sides = 0;
}

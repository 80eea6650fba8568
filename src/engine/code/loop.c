#include "engine/code/loop.h"
#include "engine/code/close.h"
#include "engine/code/stub.h"

/* Where the loop being made restarts: one translation at a time. */
static u8 *again;

/* Which of the two ways of a branch at the end of the path leads back to the start. */
enum way { WAY_NONE, WAY_TARGET, WAY_NEXT };

static enum way way_back(const struct block *b)
{
	const struct part *last = &b->part[b->n_parts - 1];
	u64 head = b->part[0].pc;
	switch (b->insn[b->n_insns - 1].kind) {
	case INSN_JUMP:
		return last->target == head ? WAY_TARGET : WAY_NONE;
	case INSN_COND:
		if (last->target == last->next)
			return WAY_NONE;
		return last->target == head ? WAY_TARGET : last->next == head ? WAY_NEXT : WAY_NONE;
	default:
		return WAY_NONE;
	}
}

u8 tw_loop_register(const struct block *b, const struct plan *p, u32 context, u8 t_reg)
{
	static const u8 choice[] = {TW_R9, TW_R8, TW_R15, TW_R14, TW_R13, TW_R12, TW_RSI, TW_RDI, TW_RDX, TW_RBX, TW_RBP, TW_RAX};
	bool same_context = !(context & ~p->after[b->n_insns - 1].context);
	if (tw_logs() || tw_form_now() != TW_FORM_PLAIN || p->n_values || t_reg != TW_NOREG || !same_context || way_back(b) == WAY_NONE)
		return TW_NOREG;
	for (unsigned k = 0; k < sizeof choice; k++)
		if (!(b->uses >> choice[k] & 1))
			return choice[k];
	return TW_NOREG;
}

void tw_loop_enter(struct emit *e, const struct block *b)
{
	const struct fragment *f = e->f;
	const i32 own = LOOP_RECORD_BYTES;
	u8 c = f->rec.map.c_reg;
	bool falls = way_back(b) == WAY_NEXT;
	e->buf = BUF_REG;
	emit_state(e, 0, STATE_NOT_OPEN | STATE_CLOSED);
	emit_mov_mem16_imm(e, BUF_REG, 0, f->rec.number ? (u16)(f->rec.number + tw_path_count(&f->rec) - 1) : 0);
	emit_mov_mem32_imm(e, BUF_REG, 2, 0);
	emit_mov_mem32_imm(e, BUF_REG, 6, 0);
	emit_mov_mem16_imm(e, BUF_REG, own, (u16)f->rec.number);
	emit_mov_gs_reg(e, T_SLOT_C, c);
	emit_mov_reg_imm(e, c, 0);
	emit_state(e, 0, STATE_NOT_OPEN | STATE_CLOSED | STATE_C_SLOT);
	emit_lea(e, BUF_REG, BUF_REG, own);
	emit_state(e, 0, STATE_C_SLOT);
	u8 *over = e->at + 1;
	emit_bytes(e, "\xeb\x00", 2);
	again = e->at;
	emit_state(e, (u8)b->n_insns, STATE_C_SLOT | STATE_DONE | (falls ? STATE_PC_FALL : 0));
	emit_lea(e, c, c, 1);
	emit_mov_mem_reg(e, BUF_REG, 2 - own, c);
	*over = (u8)(e->at - (over + 1));
	emit_state(e, 0, STATE_C_SLOT);
}

/* The back edge, at rel32, and its target once the loop is stale. */
static void emit_back(struct emit *e, u8 *rel32, u8 done, u64 head, u32 context, u32 falls)
{
	struct fragment *f = e->f;
	struct exit *x = tw_exit_new(EXIT_LOOP, head, f);
	x->context = context;
	x->patch = rel32;
	x->stub = (u32)(u64)e->at;
	x->linked = 1;
	x->next_in = f->incoming;
	f->incoming = x;
	emit_patch(rel32, again);
	e->passed = 0;
	tw_close_record(e, done, STATE_DONE | falls);
	tw_close_jump(e, done, head, EXIT_LINK, context, falls);
	f->last_exit = NULL;
}

void tw_loop_end(struct emit *e, const struct block *b, u32 context)
{
	const struct insn *i = &b->insn[b->n_insns - 1];
	const struct part *last = &b->part[b->n_parts - 1];
	u8 done = (u8)b->n_insns;
	u32 falls = way_back(b) == WAY_NEXT ? STATE_PC_FALL : 0, leaves = falls ^ STATE_PC_FALL;
	if (i->kind == INSN_JUMP) {
		emit_back(e, emit_jmp_patchable(e), done, b->part[0].pc, context, 0);
		return;
	}
	u8 *back = emit_jcc_patchable(e, falls ? i->cc ^ 1 : i->cc);
	emit_state(e, done, STATE_C_SLOT | STATE_DONE | leaves);
	tw_close_record(e, done, STATE_DONE | leaves);
	tw_close_jump(e, done, leaves ? last->next : last->target, EXIT_LINK, context, leaves);
	emit_back(e, back, done, b->part[0].pc, context, falls);
}

#include "engine/code/close.h"
#include "engine/code/fragment.h"
#include "engine/code/stub.h"
#include "engine/record/bits_code.h"
#include "engine/record/instrumentor.h"
#include "engine/record/tally_code.h"
#include "engine/record/store.h"
#include "engine/record/call_code.h"

u32 tw_close_swapped(const struct emit *e)
{
	if (e->f->rec.map.c_reg != TW_NOREG)
		return STATE_C_SLOT;
	return e->f->rec.map.t_reg != TW_NOREG ? STATE_T_SLOT | STATE_R11_LIVE : 0;
}

void tw_close_record(struct emit *e, u8 insn, u32 flags)
{
	if (!tw_instr()->records)
		return;
	tw_emit_statuses(e, e->path ? &e->f->rec.side[e->path - 1].statuses : &e->f->rec.statuses);
	u8 t = e->f->rec.map.t_reg, c = e->f->rec.map.c_reg;
	if (c != TW_NOREG) {
		emit_state(e, insn, flags | STATE_C_SLOT);
		if (tw_tallies())
			tw_tally_emit_turns(e, insn, flags | STATE_C_SLOT);
		emit_mov_reg_gs(e, c, T_SLOT_C);
	}
	if (t != TW_NOREG) {
		emit_state(e, insn, flags | STATE_T_SLOT | STATE_R11_LIVE);
		emit_mov_gs_reg(e, T_APP_R11, BUF_REG);
		emit_mov_reg_reg(e, BUF_REG, t);
		emit_state(e, insn, flags | STATE_T_SLOT);
		emit_mov_reg_gs(e, t, T_SLOT_T);
		e->buf = BUF_REG;
	}
	emit_state(e, insn, flags);
	if (tw_tallies() && !(e->passed & STATE_TALLIED))
		tw_tally_emit(e, insn, flags);
	if (tw_path_bytes(e->rec, e->path))
		emit_lea(e, BUF_REG, BUF_REG, tw_path_bytes(e->rec, e->path));
	emit_state(e, insn, flags | STATE_CLOSED);
	if (tw_logs())
		tw_call_close(e, e->rec);
}

struct exit *tw_close_exit(struct emit *e, u8 *rel32, u64 pc, u8 kind, u32 context)
{
	struct exit *x = tw_exit_new(kind, pc, e->f);
	x->context = context;
	if (kind == EXIT_LINK)
		x->patch = rel32;
	if (!e->f->first_patch)
		e->f->first_patch = (u16)(rel32 - e->start);
	emit_patch(rel32, tw_stub_new(x));
	return x;
}

void tw_close_jump(struct emit *e, u8 done, u64 pc, u8 kind, u32 context, u32 flags)
{
	if (e->f->rec.ticks)
		done = tw_bit_emit(e, done, true, flags | STATE_DONE | STATE_CLOSED);
	emit_state(e, done, flags | STATE_DONE | STATE_CLOSED);
	e->f->last_exit = tw_close_exit(e, emit_jmp_patchable(e), pc, kind, context);
}

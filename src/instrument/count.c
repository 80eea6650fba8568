/*
 * count: the bare engine, with the instructions counted, for windows that open at a count (engine/record/window.h). Nothing is recorded and no register is taken.
 *
 * thread.count goes up to TW_COUNT_END, where its upper half is no longer 0; a thread that finds it so comes by the dispatcher before the block. So
 * what is tested is tested without flags.
 */
#include "engine/code/fragment.h"
#include "engine/record/instrumentor.h"

static void count_entry(struct emit *e, const struct block *b)
{
	const u32 flags = e->now.flags;
	struct exit *x = tw_exit_new(EXIT_CHECK, b->pc, e->f);
	x->context = COUNT_CONTEXT;
	emit_spill(e, 0, TW_RCX, flags);
	emit_bytes(e, "\x65\x8b\x0c\x25", 4); /* mov ecx, gs:[upper half of the count] */
	emit_32(e, T_COUNT + 4);
	emit_bytes(e, "\xe3", 1); /* jrcxz on */
	u8 *on = e->at;
	emit_8(e, 0);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_S);
	emit_jmp(e, tw_stub_new(x));
	*on = (u8)(e->at - (on + 1));
	emit_mov_reg_gs(e, TW_RCX, T_COUNT);
	emit_lea(e, TW_RCX, TW_RCX, b->n_insns);
	emit_mov_gs_reg(e, T_COUNT, TW_RCX);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_S);
	emit_state(e, 0, flags);
}

const struct instrumentor tw_instrument_count = {
    .name = "count",
    .format = TW_FORMAT_NONE,
    .context = COUNT_CONTEXT,
    .entry = count_entry,
};

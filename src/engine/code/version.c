#include "engine/code/version.h"
#include "engine/code/fragment.h"
#include "engine/code/stub.h"
#include "engine/record/budget.h"
#include "engine/record/instrumentor.h"

#define FEW 16u /* of as many blocks one tests */

void tw_count_test(struct emit *e, struct exit *x, u32 add)
{
	const u32 flags = e->now.flags;
	emit_spill(e, 0, TW_RCX, flags);
	emit_bytes(e, "\x65\x8b\x0c\x25", 4); /* mov ecx, gs:[upper half of the count] */
	emit_32(e, T_COUNT + 4);
	emit_bytes(e, "\xe3", 1); /* jrcxz on */
	u8 *on = e->at;
	emit_8(e, 0);
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_S);
	emit_jmp(e, tw_stub_new(x));
	*on = (u8)(e->at - (on + 1));
	if (add) {
		emit_mov_reg_gs(e, TW_RCX, T_COUNT);
		emit_lea(e, TW_RCX, TW_RCX, (i32)add);
		emit_mov_gs_reg(e, T_COUNT, TW_RCX);
	}
	emit_mov_reg_gs(e, TW_RCX, T_SLOT_S);
	emit_state(e, 0, flags);
}

void tw_version_test(struct emit *e, const struct block *b)
{
	const u32 weight = tw_instr()->records ? e->f->rec.record_bytes : 0;
	if (!weight && tw_budget_tests_rarely() && tw_hash(b->pc, 32) % FEW)
		return;
	struct exit *x = tw_exit_new(EXIT_CHECK, b->pc, e->f);
	x->context = e->f->rec.context;
	x->upper = e->f->rec.upper_in;
	tw_count_test(e, x, weight);
}

/* Where the application's operands are, from its registers. */
#ifndef TW_OPERAND_H
#define TW_OPERAND_H

#include "engine/engine.h"

static inline u64 tw_segment_base(const struct thread *t, u8 seg)
{
	return seg == TW_SEG_FS ? t->app_fs : seg == TW_SEG_GS ? t->app_gs : 0;
}

/* `base` and `index`: what is in these registers; 0: there is none. */
static inline u64 tw_operand_address(const struct thread *t, const struct tw_op *op, u64 base, u64 index)
{
	u64 a = (u64)op->disp + base + ((op->flags & TW_OPF_INDEX8 ? index & 0xff : index) << op->scale);
	if (op->flags & TW_OPF_ADDR32)
		a = (u32)a;
	if (op->flags & TW_OPF_LINE)
		a &= ~63ull;
	return a + tw_segment_base(t, op->seg);
}

static inline u64 tw_effective_address(const struct thread *t, const u64 *regs, const struct tw_op *op)
{
	return tw_operand_address(t, op, op->base != TW_NOREG ? regs[op->base] : 0, op->index != TW_NOREG ? regs[op->index] : 0);
}

#endif

#include "replay/compiler.h"

int tw_compile_has_room(const struct compiler *c)
{
	return c->at->code_end - c->a.at > TW_STEP_CODE;
}

void tw_compile_helper(struct compiler *c, const struct tw_step *s)
{
	as_constant(&c->a, AS_RSI, (uintptr_t)c->p);
	as_constant(&c->a, AS_RDX, (uintptr_t)s);
	as_call(&c->a, c->at->helper);
}

void tw_compile_segment(struct compiler *c, uint8_t reg, const struct tw_op *op)
{
	if (op->seg == TW_SEG_FS || op->seg == TW_SEG_GS)
		as_alu_mem(&c->a, AS_ADD, reg, tw_slot_memory(op->seg == TW_SEG_FS ? TW_SLOT_FS : TW_SLOT_GS));
}

void *tw_compile_data(struct compiler *c, size_t n)
{
	void *at = c->data;
	c->data += n;
	return at;
}

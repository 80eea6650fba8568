#include "instrument/sources.h"

enum { MAX_LEAVES = 6 };

/* Registers whose values would do, and before which instructions. */
struct leaves {
	u32 n, varying;
	u8 insn[MAX_LEAVES], reg[MAX_LEAVES];
};

/* The update by which instruction i sets the register; NULL: it sets it in another way. */
static const struct tw_op *update_of(const struct block *b, const struct insn *i, u8 reg)
{
	for (u16 k = i->first_op; k < i->first_op + i->n_ops; k++)
		if (tw_op_is_update(&b->op[k].op) && b->op[k].op.count == reg)
			return &b->op[k].op;
	return NULL;
}

static bool add_leaf(const struct sources *s, struct leaves *l, u8 reg, u8 insn)
{
	if (l->n == MAX_LEAVES)
		return false;
	l->insn[l->n] = insn;
	l->reg[l->n++] = reg;
	l->varying += s->varies >> reg & 1;
	return true;
}

/* Adds what the register, unknown before instruction `insn`, comes from. */
static bool add_leaves(const struct sources *s, struct leaves *l, u8 reg, u8 insn)
{
	const struct insn *all = s->b->insn;
	i32 k = (i32)insn - 1;
	while (k >= 0 && !(all[k].defs >> reg & 1))
		k--;
	const struct tw_op *op = k >= 0 ? update_of(s->b, &all[k], reg) : NULL;
	if (!op)
		return add_leaf(s, l, reg, insn);
	const u8 from[] = {op->base, op->index};
	for (u32 n = 0; n < 2; n++)
		if (from[n] < TW_NREGS && !(s->before[k] >> from[n] & 1) && !add_leaves(s, l, from[n], (u8)k))
			return false;
	return true;
}

bool tw_sources_find(struct sources *s, u8 reg, u8 insn)
{
	struct leaves l = {0};
	if (!add_leaves(s, &l, reg, insn) || l.varying > 1 || (l.n > 1 && !s->loops) || (l.n == 1 && l.insn[0] == insn))
		return false;
	for (u32 k = 0; k < l.n; k++)
		s->wanted[l.insn[k]] |= (u16)(1u << l.reg[k]);
	return l.n;
}

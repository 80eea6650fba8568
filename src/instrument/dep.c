/*
 * dep: detailed execution profiles as tags and register values (Zhao et al., PACT 2006), with computable updates.
 *
 * A fragment stores its tag when it is entered, and before an instruction the address registers that replay does not know by then. What replay
 * knows is followed through the fragment: a recorded register is known until it is overwritten by something replay cannot compute.
 *
 * In superblocks, where an address register was worked out from others within the fragment, those are recorded instead, each where it is used, if
 * that is no more values: one that comes from memory or from before, and any number that a loop does not change, which are then known the next
 * time round. What is worked out from them is known from there on as well.
 *
 * rsp is known everywhere: where it is set in a way that cannot be computed, its new value is recorded at once. A context is the set of
 * registers known at entry. Fragments of one block are entered knowing rsp alone; superblocks come in versions that are entered knowing more.
 */
#include "instrument/planner.h"

#define KNOWS_RSP (1u << TW_RSP)

/* What is to be recorded before each instruction, other than what it needs itself. */
struct sources {
	u16 wanted[BLOCK_MAX_INSNS];
	u16 written; /* registers that the block writes */
	bool loops;  /* control may go back to its start */
};

struct dep_planner {
	struct planner planner;
	u16 known;
	const struct block *b;       /* with sources: */
	struct sources *sources;     /* NULL: nothing is looked for */
	u16 before[BLOCK_MAX_INSNS]; /* what was known before each instruction */
	bool found;                  /* sources have been added: the plan is to be made again */
};

static void record(struct dep_planner *w, u8 reg, bool after)
{
	tw_planner_record(&w->planner, reg, after);
	w->known |= (u16)(1u << reg);
}

/* ---- sources ---- */

enum { MAX_LEAVES = 6 };

/* Registers whose values would do, and before which instructions. */
struct leaves {
	u32 n, varying;
	u8 insn[MAX_LEAVES], reg[MAX_LEAVES];
};

/* The update by which instruction i sets the register; NULL: it sets it otherwise. */
static const struct tw_op *update_of(const struct block *b, const struct insn *i, u8 reg)
{
	for (u16 k = i->first_op; k < i->first_op + i->n_ops; k++)
		if (tw_op_is_update(&b->op[k].op) && b->op[k].op.count == reg)
			return &b->op[k].op;
	return NULL;
}

static bool add_leaf(struct dep_planner *w, struct leaves *l, u8 reg, u8 insn)
{
	if (l->n == MAX_LEAVES)
		return false;
	l->insn[l->n] = insn;
	l->reg[l->n++] = reg;
	l->varying += w->sources->written >> reg & 1;
	return true;
}

/* Adds what the register, unknown before instruction `insn`, comes from. */
static bool add_leaves(struct dep_planner *w, struct leaves *l, u8 reg, u8 insn)
{
	const struct insn *all = w->b->insn;
	i32 k = (i32)insn - 1;
	while (k >= 0 && !(all[k].defs >> reg & 1))
		k--;
	const struct tw_op *op = k >= 0 ? update_of(w->b, &all[k], reg) : NULL;
	if (!op)
		return add_leaf(w, l, reg, insn);
	const u8 from[] = {op->base, op->index};
	for (u32 n = 0; n < 2; n++)
		if (from[n] < TW_NREGS && !(w->before[k] >> from[n] & 1) && !add_leaves(w, l, from[n], (u8)k))
			return false;
	return true;
}

/* Is there something to record before the instruction that needs the register, and that is worth more? Then it is noted. */
static bool find_sources(struct dep_planner *w, u8 reg)
{
	struct leaves l = {0};
	if (!add_leaves(w, &l, reg, w->planner.insn) || l.varying > 1 || (l.n > 1 && !w->sources->loops) ||
	    (l.n == 1 && l.insn[0] == w->planner.insn))
		return false;
	for (u32 k = 0; k < l.n; k++)
		w->sources->wanted[l.insn[k]] |= (u16)(1u << l.reg[k]);
	return l.n;
}

static void need(struct planner *planner, u8 reg)
{
	struct dep_planner *w = (struct dep_planner *)planner;
	if (reg >= TW_NREGS || w->known >> reg & 1)
		return;
	if (w->sources && find_sources(w, reg))
		w->found = true;
	record(w, reg, false);
}

static bool is_known(const struct dep_planner *w, u8 reg)
{
	return reg >= TW_NREGS || w->known >> reg & 1;
}

static void plan_update(struct dep_planner *w, const struct tw_op *op)
{
	u16 dst = (u16)(1u << op->count);
	if (!is_known(w, op->base) || !is_known(w, op->index)) {
		w->known &= (u16)~dst;
		return;
	}
	tw_planner_op(&w->planner, op);
	w->known |= dst;
}

static void plan_insn(struct dep_planner *w, const struct block *b, const struct insn *i)
{
	u16 kept = 0;
	if (w->sources) {
		for (u8 reg = 0; reg < TW_NREGS; reg++)
			if ((w->sources->wanted[w->planner.insn] & ~w->known) >> reg & 1)
				record(w, reg, false);
		w->before[w->planner.insn] = w->known;
	}
	for (u16 k = i->first_op; k < i->first_op + i->n_ops; k++) {
		const struct tw_op *op = &b->op[k].op;
		if (tw_op_is_update(op)) {
			plan_update(w, op);
			continue;
		}
		tw_planner_reference(&w->planner, b, k);
		if (op->kind == TW_OP_REP && !(op->flags & TW_OPF_ADDR32))
			kept |= (u16)(1u << op->base | (op->index < TW_NREGS ? 1u << op->index : 0));
	}
	w->known &= (u16) ~(i->lost & ~kept);
	if (!(w->known & KNOWS_RSP) && i->kind == INSN_PLAIN)
		record(w, TW_RSP, true);
}

static void plan_block(struct dep_planner *w, const struct block *b)
{
	struct plan *p = w->planner.p;
	for (u16 k = 0; k < b->n_insns; k++) {
		w->planner.insn = (u8)k;
		if (b->insn[k].kind != INSN_BAD)
			plan_insn(w, b, &b->insn[k]);
		p->after[k].context = w->known;
		p->after[k].n_ops = p->n_ops;
		p->after[k].n_values = p->after[k].n_placed = p->n_values;
	}
}

/* How often a plan is improved, at most. */
enum { MAX_TRIES = 8 };

static bool goes_back(const struct block *b)
{
	const struct part *last = &b->part[b->n_parts - 1];
	return last->target == b->pc || (last->end == TW_END_COND && last->next == b->pc);
}

static void begin_sources(struct sources *s, const struct block *b)
{
	memset(s, 0, sizeof *s);
	s->loops = goes_back(b);
	for (u16 k = 0; k < b->n_insns; k++)
		s->written |= b->insn[k].defs;
}

/* Plans the block again and again, until no more sources are found: those of one register may be another's. */
static void dep_plan(const struct block *b, u32 context, struct plan *p)
{
	static struct sources sources; /* one translation at a time */
	const bool is_hot = b->n_parts > 1 || context != KNOWS_RSP;
	for (u32 tries = 0; tries <= MAX_TRIES; tries++) {
		struct dep_planner w = {
		    .planner = {.p = p, .need = need}, .known = (u16)context, .b = b, .sources = is_hot ? &sources : NULL};
		if (tries == 0 && is_hot)
			begin_sources(&sources, b);
		p->n_ops = p->n_stores = p->n_values = 0;
		p->flags = 0;
		plan_block(&w, b);
		if (!w.found)
			return;
	}
}

const struct instrumentor tw_instrument_dep = {
    .name = "dep",
    .format = TW_FORMAT_DEP,
    .records = true,
    .superblocks = true,
    .context = KNOWS_RSP,
    .plan = dep_plan,
};

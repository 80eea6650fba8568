/*
 * dep: detailed execution profiles as tags and register values (Zhao et al., PACT 2006), with computable updates.
 *
 * A fragment stores its tag at its entry, and before an instruction those address registers that replay does not know
 * then. The planner follows through the fragment what replay knows: a recorded register is known until it is
 * overwritten by something that replay cannot compute.
 *
 * In superblocks, if an address register was computed from others within the fragment, those are recorded instead,
 * each where it is used, provided that they are not more values. At most one may come from memory or from before the
 * fragment; any number may be loop-invariant, and are then known in the next iteration. What is computed from them is
 * known from there on, too.
 *
 * rsp is known everywhere: if it is set in a way that cannot be computed, its new value is recorded at once. A
 * context is the set of registers known at entry. Fragments of one block are entered knowing only rsp; superblocks
 * have versions that are entered knowing more.
 */
#include "instrument/planner.h"
#include "instrument/sources.h"

#define KNOWS_RSP (1u << TW_RSP)

struct dep_planner {
	struct planner planner;
	u16 known;
	struct sources *sources; /* NULL: nothing is looked for */
	bool found;              /* sources have been added: the plan is to be made again */
};

static void record(struct dep_planner *w, u8 reg, bool after)
{
	tw_planner_record(&w->planner, reg, after);
	w->known |= (u16)(1u << reg);
}

static void need(struct planner *planner, u8 reg)
{
	struct dep_planner *w = (struct dep_planner *)planner;
	if (reg >= TW_NREGS || w->known >> reg & 1)
		return;
	if (w->sources && tw_sources_find(w->sources, reg, w->planner.insn))
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
		w->sources->before[w->planner.insn] = w->known;
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
	s->b = b;
	s->loops = goes_back(b);
	for (u16 k = 0; k < b->n_insns; k++)
		s->varies |= b->insn[k].defs;
}

/* Plans the block repeatedly until no more sources are found: the sources of one register may be another's. */
static void dep_plan(const struct block *b, u32 context, struct plan *p)
{
	static struct sources sources; /* one translation at a time */
	const bool is_hot = b->n_parts > 1 || context != KNOWS_RSP;
	for (u32 tries = 0; tries <= MAX_TRIES; tries++) {
		struct dep_planner w = {.planner = {.p = p, .need = need}, .known = (u16)context, .sources = is_hot ? &sources : NULL};
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

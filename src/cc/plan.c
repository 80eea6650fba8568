/* One block's record. The engine's headers go with no libc's. */
#include "cc/plan.h"
#include "cc/marks.h"
#include "instrument/planner.h"
#include "instrument/sources.h"

struct own_planner {
	struct planner planner;
	uint16_t known;
	uint16_t written;        /* registers written so far */
	uint16_t recorded;       /* before they were written */
	struct sources *sources; /* NULL: nothing is looked for */
	int found;               /* sources have been added: the plan is to be made again */
};

static void record(struct own_planner *w, u8 reg, bool after)
{
	tw_planner_record(&w->planner, reg, after);
	w->known |= (uint16_t)(1u << reg);
	if (!(w->written >> reg & 1))
		w->recorded |= (uint16_t)(1u << reg);
}

static void need(struct planner *planner, u8 reg)
{
	struct own_planner *w = (struct own_planner *)planner;
	if (reg >= TW_NREGS || w->known >> reg & 1)
		return;
	if (w->sources && tw_sources_find(w->sources, reg, planner->insn))
		w->found = 1;
	record(w, reg, false);
}

static int is_known(const struct own_planner *w, u8 reg)
{
	return reg >= TW_NREGS || w->known >> reg & 1;
}

/* If the linker fills in an update's constant, that must be simply moved or added. */
static int is_computable(const struct tw_cc_insn *i)
{
	const u8 *raw = i->d.raw, at = i->imm_at;
	if (i->imm_patch == TW_CC_NO_PATCH)
		return 1;
	if ((raw[at - 1] & 0xf8) == 0xb8 && raw[at - 2] != 0xc7 && raw[at - 2] != 0x81) /* mov r, constant */
		return 1;
	return (raw[at - 2] == 0xc7 || raw[at - 2] == 0x81) && (raw[at - 1] & 0xf8) == 0xc0; /* mov, add */
}

static void plan_update(struct own_planner *w, const struct tw_op *op)
{
	const uint16_t dst = (uint16_t)(1u << op->count);
	if (!is_known(w, op->base) || !is_known(w, op->index)) {
		w->known &= (uint16_t)~dst;
		return;
	}
	tw_planner_op(&w->planner, op);
	w->known |= dst;
}

/* Records before instruction k what later instructions need as sources. */
static void record_sources(struct own_planner *w, uint32_t k)
{
	for (u8 reg = 0; reg < TW_NREGS; reg++)
		if ((w->sources->wanted[k] & ~w->known) >> reg & 1)
			record(w, reg, false);
	w->sources->before[k] = w->known;
}

static void plan_insn(struct own_planner *w, const struct block *b, uint32_t k)
{
	const struct insn *d = &b->insn[k];
	uint16_t kept = 0;
	w->planner.insn = (u8)k;
	if (w->sources)
		record_sources(w, k);
	for (u16 m = d->first_op; m < d->first_op + d->n_ops; m++) {
		const struct tw_op *op = &b->op[m].op;
		if (tw_op_is_update(op)) {
			plan_update(w, op);
			continue;
		}
		tw_planner_reference(&w->planner, b, m);
		if (op->kind == TW_OP_REP && !(op->flags & TW_OPF_ADDR32))
			kept |= (uint16_t)(1u << op->base | (op->index < TW_NREGS ? 1u << op->index : 0));
	}
	w->known &= (uint16_t) ~(d->lost & ~kept);
	w->written |= d->defs;
}

/* An update that cannot be computed is none. */
static void lay_op(struct block *b, uint32_t k, const struct tw_cc_insn *i, const struct memop *op)
{
	if (tw_op_is_update(&op->op) && !is_computable(i)) {
		b->insn[k].lost |= (u16)(1u << op->op.count);
		return;
	}
	b->op[b->n_ops] = *op;
	b->op[b->n_ops++].op.insn = (u8)k;
	b->insn[k].n_ops++;
}

/* The block in the form the planner takes. */
static const struct block *lay_out(const struct tw_cc_flow *f, const struct tw_cc_block_info *info)
{
	static struct block b; /* one at a time */
	b.n_insns = (u16)info->n;
	b.n_ops = 0;
	for (uint32_t k = 0; k < info->n; k++) {
		const struct tw_cc_insn *i = &f->code->insn[info->first + k];
		b.insn[k] = i->d;
		b.insn[k].first_op = b.n_ops;
		b.insn[k].n_ops = 0;
		for (uint32_t m = 0; m < i->d.n_ops; m++)
			lay_op(&b, k, i, &f->code->op[i->op + m]);
	}
	return &b;
}

static void add_extra(struct own_planner *w, const struct tw_cc_insn *last, uint32_t k, uint16_t extra)
{
	w->planner.insn = (u8)k;
	for (u8 reg = 0; reg < TW_NREGS; reg++)
		if ((extra & ~w->known) >> reg & 1)
			record(w, reg, !tw_cc_ends_before(last));
}

static struct plan plan; /* one at a time */

/* 1: it is to be made again. */
static int make_plan(struct own_planner *w, const struct tw_cc_flow *f, const struct tw_cc_block_info *info, const struct block *b,
                     uint16_t extra)
{
	plan.n_ops = plan.n_stores = plan.n_values = 0;
	plan.flags = 0;
	for (uint32_t k = 0; k < info->n; k++) {
		if (k + 1 == info->n && tw_cc_ends_before(tw_cc_last(f, info)))
			add_extra(w, tw_cc_last(f, info), k, extra);
		if (b->insn[k].kind != INSN_BAD)
			plan_insn(w, b, k);
	}
	if (!tw_cc_ends_before(tw_cc_last(f, info)))
		add_extra(w, tw_cc_last(f, info), info->n - 1, extra);
	return w->found;
}

/* Plans the block repeatedly until no more sources are found: the sources of one register may be another's. */
static struct own_planner plan_with(const struct tw_cc_flow *f, const struct tw_cc_block_info *info, const struct tw_cc_known *known,
                                    uint16_t in, struct sources *sources)
{
	enum { MOST_TRIES = 8 };
	const struct block *b = lay_out(f, info);
	struct own_planner w;
	int tries = 0;
	if (sources)
		*sources = (struct sources){.b = b, .varies = known->varies, .loops = 1};
	do
		w = (struct own_planner){.planner = {.p = &plan, .need = need}, .known = in, .sources = sources};
	while (make_plan(&w, f, info, b, known->extra) && ++tries < MOST_TRIES);
	return w;
}

/* Blocks are bounded by what their references may need; so is what is written between two checks. */
uint16_t tw_cc_plan(const struct tw_cc_flow *f, uint32_t n, const struct tw_cc_known *known, uint16_t in, uint16_t *exposed)
{
	static struct sources sources; /* one at a time */
	const struct tw_cc_block_info *info = &f->block[n];
	struct own_planner w = plan_with(f, info, known, in, known->loops ? &sources : NULL);
	if (known->loops && 2 + 8u * plan.n_values > info->bytes)
		w = plan_with(f, info, known, in, NULL);
	*exposed = w.recorded;
	return w.known;
}

uint32_t tw_cc_plan_values(void)
{
	return plan.n_values;
}

void tw_cc_plan_take(struct tw_cc_record *r)
{
	r->n_ops = plan.n_ops;
	r->n_stores = plan.n_stores;
	r->n_values = plan.n_values;
	r->flags = plan.flags;
	memcpy(r->op, plan.op, plan.n_ops * sizeof *r->op);
	for (u32 k = 0; k < plan.n_stores; k++) {
		const struct store *s = &plan.store[k];
		r->store[k] = (struct tw_cc_store){s->insn, s->after, s->what, s->reg, s->slot};
	}
}

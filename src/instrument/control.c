/*
 * dep-c and bb_pc: control flow only. dep-c stores the 2-byte tag of each fragment, bb_pc 4 bytes for each block: the common way to trace
 * blocks, to compare with. (They are a number instead of the block's address: as long, and found by the collector without a search.)
 */
#include "instrument/instrumentor.h"

static void plan_nothing(const struct block *b, u32 context, struct plan *p)
{
	(void)b, (void)context, (void)p;
}

static void dep_c_entry(struct emit *e, const struct block *b, const struct plan *p, struct fragment *f)
{
	(void)b, (void)p;
	emit_mov_mem16_imm(e, e->buf, 0, (u16)f->number);
}

static void bb_pc_entry(struct emit *e, const struct block *b, const struct plan *p, struct fragment *f)
{
	(void)b, (void)p;
	emit_mov_mem32_imm(e, e->buf, 0, f->number);
}

const struct instrumentor tw_instrument_dep_c = {
    .name = "dep-c",
    .format = TW_FORMAT_DEP_C,
    .records = true,
    .superblocks = true,
    .plan = plan_nothing,
    .entry = dep_c_entry,
};

const struct instrumentor tw_instrument_bb_pc = {
    .name = "bb_pc",
    .format = TW_FORMAT_BB_PC,
    .records = true,
    .plan = plan_nothing,
    .entry = bb_pc_entry,
};

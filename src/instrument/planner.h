/*
 * Common planning of instrumentors that record register values: which values each kind of operation needs. Which
 * registers replay already knows is the instrumentor's own business.
 */
#ifndef TW_PLANNER_H
#define TW_PLANNER_H

#include "engine/record/instrumentor.h"

/* A plan being made. */
struct planner {
	struct plan *p;
	u16 n_placed; /* values that are always stored: each has its own place in the record */
	u8 insn;      /* the instruction being planned */
	/* Ensures that replay knows the register, which may be TW_NOREG, before this instruction. */
	void (*need)(struct planner *w, u8 reg);
};

void tw_planner_op(struct planner *w, const struct tw_op *op);

/* A store at `place` in the record, before or after the instruction. */
void tw_planner_store(struct planner *w, u8 what, u8 reg, u16 place, bool after);

/* Adds n values to the descriptor that are always stored, in places of their own. Returns the number of the first. */
u16 tw_planner_values(struct planner *w, u8 what, u8 reg, u32 n, bool after);

/* Stores the register's value, and adds the operation by which replay learns it. */
void tw_planner_record(struct planner *w, u8 reg, bool after);

/* The reference made by memop `index` of the block, with everything it needs. */
void tw_planner_reference(struct planner *w, const struct block *b, u16 index);

#endif

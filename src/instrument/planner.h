/*
 * What instrumentors that record values of registers plan alike: which values an operation of each kind takes. Which registers replay knows anyway is the
 * instrumentor's own business.
 */
#ifndef TW_PLANNER_H
#define TW_PLANNER_H

#include "engine/record/instrumentor.h"

/* A plan being made. */
struct planner {
	struct plan *p;
	u16 n_placed; /* values that are stored in any case: each has a place of its own in the record */
	u8 insn;      /* the instruction being planned */
	/* Sees to it that replay knows the register, which may be TW_NOREG, before this instruction. */
	void (*need)(struct planner *w, u8 reg);
};

void tw_planner_op(struct planner *w, const struct tw_op *op);

/* A store at `place` in the record, before or after the instruction. */
void tw_planner_store(struct planner *w, u8 what, u8 reg, u16 place, bool after);

/* n new values of the descriptor, stored in any case, in places of their own. Returns the first one's number. */
u16 tw_planner_values(struct planner *w, u8 what, u8 reg, u32 n, bool after);

/* The register's value, stored in any case, and the operation by which replay learns it. */
void tw_planner_record(struct planner *w, u8 reg, bool after);

/* The reference that memop `index` of the block makes, with all it needs. */
void tw_planner_reference(struct planner *w, const struct block *b, u16 index);

#endif

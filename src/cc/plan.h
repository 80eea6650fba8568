/*
 * What each block records: which registers replay knows at its start, and from that the values it stores and the
 * operations of its descriptor (by the engine's planner).
 *
 * Known is what has been recorded, or computed from that, on every way to the block within its function; at a
 * function's entry and where a call returns nothing is known. If a loop would have to record a register in each
 * iteration, and would keep knowing it if it knew it at its start, the blocks that lead into the loop record it.
 */
#ifndef TW_CC_PLAN_H
#define TW_CC_PLAN_H

#include "cc/flow.h"

struct tw_cc_known {
	uint16_t in, out;
	uint16_t extra;   /* registers it records at its end for a loop */
	uint16_t exposed; /* it records them as they were at its start */
	uint16_t varies;  /* registers that the innermost loop around it writes */
	uint16_t blocks;  /* of that loop; 0: there is none, or it is large */
	uint8_t loops;    /* where an address is computed from other values, those may be recorded (instrument/sources.h) */
};

/* Of all blocks, to be freed; NULL: there is no memory. */
struct tw_cc_known *tw_cc_plan_known(const struct tw_cc_flow *f);

/* A value that is stored: enum vec_kind, and the register; at 8-byte slot `slot` behind the tag. */
struct tw_cc_store {
	uint8_t insn, after, what, reg;
	uint16_t slot;
};

struct tw_cc_record {
	uint16_t n_ops, n_stores, n_values;
	uint8_t flags; /* enum tw_descriptor_flags */
	struct tw_op op[BLOCK_MAX_OPS * 3];
	struct tw_cc_store store[BLOCK_MAX_OPS * 3];
};

/* The plan of block n. `known`: all of them; NULL: no references are recorded. */
void tw_cc_plan_block(const struct tw_cc_flow *f, const struct tw_cc_known *known, uint32_t n, struct tw_cc_record *r);

/*
 * plan.c: plans block n with `in` known, and what `known` says besides. Returns what is known after it; the others
 * refer to the last plan.
 */
uint16_t tw_cc_plan(const struct tw_cc_flow *f, uint32_t n, const struct tw_cc_known *known, uint16_t in, uint16_t *exposed);
uint32_t tw_cc_plan_values(void);
void tw_cc_plan_take(struct tw_cc_record *r);

#endif

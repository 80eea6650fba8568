/*
 * Where code tests whether the buffer is full.
 *
 * What must hold: every cycle of blocks, every entry of a function that is not bounded (flow.h) and every return from
 * a call of one passes a check. Between checks at most TW_CC_PATH_BYTES are written, or three times as many where
 * flags are in use, plus one block. With a guard page (flow.guard) there are checks only at function entries, and at
 * returns from calls, after which the pointer may be another module's.
 */
#ifndef TW_CC_CHECKS_H
#define TW_CC_CHECKS_H

#include "cc/flow.h"

/* Fills flow.order and flow.rank, and `looped` of all blocks. -1: no memory. */
int tw_cc_order_find(struct tw_cc_flow *f);

/* Fills check and check_behind, when it is known how functions call each other (calls.h). -1: no memory. */
int tw_cc_checks_place(struct tw_cc_flow *f);

#endif

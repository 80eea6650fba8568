/*
 * What recording costs a thread that has a budget (budget.h), over the bare engine: the engine's own time, measured;
 * and for the code a price per byte of records. The price follows from the thread's pace (code/pace.h): points run at
 * a lower rate in code that records. A point that runs often is counted for some ms only. The price is computed from
 * all points so far, with old ones counting less.
 */
#ifndef TW_PRICE_H
#define TW_PRICE_H

#include "engine/record/room.h"

/* The bytes of records that the thread has written so far. */
u64 tw_price_written(const struct thread *t);

/* The thread has run for this many ns in translations of its current mode, excluding the engine's time. */
void tw_price_note(struct thread *t, u64 ns);

/* A period is over: what was measured long ago counts less. */
void tw_price_forget(struct thread *t);

/* ns per 1024 bytes of records, as far as known. */
u64 tw_price_per_1024(const struct thread *t);

/* What the thread has cost since it last looked: in the engine, and in this many ns of recording code. */
u64 tw_price_cost(const struct thread *t, u64 engine, u64 in_code);

#endif

/*
 * What recording costs a thread that has a budget (budget.h), over the bare engine: the engine's own time by the clock; and for what is in the code a price for each byte of records. The price
 * follows from the thread's pace (code/pace.h): in code that records the points come slower, by what it costs. A point that
 * comes often is counted for some ms only: the price follows from all that there were, of which what was long ago counts for less.
 */
#ifndef TW_PRICE_H
#define TW_PRICE_H

#include "engine/record/room.h"

/* The bytes of records that the thread has written so far. */
u64 tw_price_written(const struct thread *t);

/* The thread has run for so many ns in translations of the mode it is in, the engine's time left out. */
void tw_price_note(struct thread *t, u64 ns);

/* What was long ago counts for less: a period is over. */
void tw_price_forget(struct thread *t);

/* ns for 1024 bytes of records, as far as it shows by now. */
u64 tw_price_per_1024(const struct thread *t);

/* What the thread has cost since it last looked: in the engine, and in so many ns of code that records. */
u64 tw_price_cost(const struct thread *t, u64 engine, u64 in_code);

#endif

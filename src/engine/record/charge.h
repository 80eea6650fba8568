/*
 * What is charged to a thread's budget (budget.h), noted where it arises: the cycles that the engine works for it, and the bytes of records that it writes. Without a budget nothing is
 * noted. The budget looks at it later, in the dispatcher.
 */
#ifndef TW_CHARGE_H
#define TW_CHARGE_H

#include "engine/record/room.h"

/* Has the thread a budget, out of which it records? */
bool tw_charge_is_made(const struct thread *t);

/* The engine begins to work for a thread, and ends: that is charged to it if it records. */
u64 tw_charge_begin(void);
void tw_charge_end(struct thread *t, u64 began);

/* A buffer of records is done with, of which so many bytes were written, and another has been taken. A thread that has no more is to look at its budget: it runs bare rather than wait for the collector. */
void tw_charge_switched(struct thread *t, u64 bytes);

/* How many of the thread's buffers the collector has given back. */
u32 tw_charge_empty_buffers(const struct thread *t);

#endif

/*
 * What is charged to a thread's budget (budget.h), noted where it arises: the time that the engine works for it, and the bytes of records that it writes. Without a budget nothing is
 * noted. The budget looks at it later, in the dispatcher.
 */
#ifndef TW_CHARGE_H
#define TW_CHARGE_H

#include "engine/record/room.h"

/* Has the thread a budget, out of which it records? */
bool tw_charge_is_made(const struct thread *t);

/*
 * The engine begins to work for a thread, and ends, in the same mode. If the thread records that is charged to it: its CPU time, since at any moment it may be another's turn, the collector's for
 * one. What it takes in bare code, which is not charged, is told by the time stamp counter.
 */
u64 tw_charge_begin(const struct thread *t);
void tw_charge_end(struct thread *t, u64 began);

/* A thread that records had to wait for the collector. */
void tw_charge_waited(struct thread *t, u64 ns);

/* A buffer of records is done with, of which so many bytes were written, and another has been taken. A thread that has no more is to look at its budget. */
void tw_charge_switched(struct thread *t, u64 bytes);

/* How many of the thread's buffers the collector has given back. */
u32 tw_charge_empty_buffers(const struct thread *t);

#endif

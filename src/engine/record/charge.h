/*
 * Charges to a thread's budget (budget.h), noted where they arise: the time that the engine works for it, and the
 * bytes of records that it writes. Without a budget nothing is noted. The budget evaluates them later, in the
 * dispatcher.
 */
#ifndef TW_CHARGE_H
#define TW_CHARGE_H

#include "engine/record/room.h"

/* Does the thread record within a budget? */
bool tw_charge_is_made(const struct thread *t);

/*
 * The engine starts to work for a thread, and ends, in the same mode. If the thread records, the engine's work is
 * charged as CPU time, since another task, such as the collector, may take over at any moment. Work for bare code,
 * which is not charged, is measured by the time stamp counter.
 */
u64 tw_charge_begin(const struct thread *t);
void tw_charge_end(struct thread *t, u64 began);

/* A thread that records had to wait for the collector. */
void tw_charge_waited(struct thread *t, u64 ns);

/*
 * A buffer with this many bytes of records is finished, and another has been taken. A thread that has no more buffers
 * must look at its budget.
 */
void tw_charge_switched(struct thread *t, u64 bytes);

/* How many of the thread's buffers the collector has returned. */
u32 tw_charge_empty_buffers(const struct thread *t);

#endif

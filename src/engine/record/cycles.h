/*
 * Clocks of a thread that has a budget (budget.h): the kernel's, and the time stamp counter in their units. The
 * counter's rate is measured while the process runs; it need not be provided.
 */
#ifndef TW_CYCLES_H
#define TW_CYCLES_H

#include "engine/record/room.h"

/* A clock of the kernel's (CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID), in ns. */
u64 tw_cycles_clock(i32 which);

/* The monotonic clock shows this value now: the first and the last call give the counter's rate. */
void tw_cycles_measure(u64 now);

u64 tw_cycles_to_ns(u64 cycles);
u64 tw_cycles_of_ns(u64 ns);

#endif

/*
 * Clocks of a thread that has a budget (budget.h): the kernel's, and the time stamp counter in their terms. How fast that runs is measured while the process does; nobody has to say it.
 */
#ifndef TW_CYCLES_H
#define TW_CYCLES_H

#include "engine/record/room.h"

/* A clock of the kernel's (CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID), in ns. */
u64 tw_cycles_clock(i32 which);

/* The monotonic clock says this now: from the first call and the last follows how fast the counter runs. */
void tw_cycles_measure(u64 now);

u64 tw_cycles_to_ns(u64 cycles);
u64 tw_cycles_of_ns(u64 ns);

#endif

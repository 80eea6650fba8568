/*
 * What the recorder takes from a program with a budget: its own processor time and that of live analyzers, as far as
 * the program's threads waited for a processor meanwhile (the kernel reports both). If a processor is idle, that is
 * nothing. It is charged per byte of records (tw_budget_control.displaced_per_1024): more records mean more draining
 * and encoding.
 *
 * What must hold: a thread counts from the second look at it on. Nothing looked at here is waited for; if the kernel
 * does not report, nothing is charged.
 */
#ifndef TW_DISPLACED_H
#define TW_DISPLACED_H

#include "channel/collector_state.h"

/* Looks again, and informs the engine. By the drain loop, every 50 ms or so. */
void tw_displaced_look(struct tw_collector *c);

#endif

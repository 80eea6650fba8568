/*
 * What the recorder takes from a program with a budget: its own processor time and that of the analyzers that look on, as far as the program's threads waited for a processor meanwhile (the kernel tells
 * both). Where a processor is left over, that is nothing. It is charged by the byte of records (tw_budget_control.displaced_per_1024): who records more has more emptied and encoded.
 *
 * What must hold: a thread is in the sum from the second look at it on. Of what is looked at here nothing is waited for; where the kernel does not tell, nothing is charged.
 */
#ifndef TW_DISPLACED_H
#define TW_DISPLACED_H

#include "channel/collector_state.h"

/* Looks once more, and has the engine told. By the drain loop, every 50 ms or so. */
void tw_displaced_look(struct tw_collector *c);

#endif

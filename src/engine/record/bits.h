/*
 * Format cf_bit, from C: what a thread writes besides bits and targets. The bytes are told in channel/expand.h; the code of fragments writes them in
 * record/bits_code.h.
 * The walk itself is walk.h's.
 */
#ifndef TW_BITS_H
#define TW_BITS_H

#include "engine/record/recorded.h"
#include "engine/record/room.h"
#include "engine/record/instrumentor.h"

/* Values of state_entry.insn where all instructions have run, and in lookups. */
enum { BITS_SWITCHES = 254, BITS_TOLD = 255 };

/* The cache was left where the walk stands at `pc`, or 0: where it wants an item. `outside`: what comes next is not of the program's code, so it is stopped. */
void tw_bits_left(struct thread *t, u64 pc, bool outside);

/* f is about to be entered: says so if that does not follow. S */
void tw_bits_enter(struct thread *t, const struct tw_recorded *f);

/* The thread was interrupted in f at state s, with exact registers, pc and bufptr. `way_in`: that is not f itself, but code that leads to it. S */
void tw_bits_interrupted(struct thread *t, const struct tw_recorded *f, const struct state_entry *s, bool way_in);

#endif

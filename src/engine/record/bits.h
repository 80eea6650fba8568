/*
 * Format cf_bit, the C part: what a thread writes besides bits and targets. channel/expand.h describes the bytes;
 * record/bits_code.h emits the code of fragments that writes them. The walk itself is in walk.h.
 */
#ifndef TW_BITS_H
#define TW_BITS_H

#include "engine/record/recorded.h"
#include "engine/record/room.h"
#include "engine/record/instrumentor.h"

/* Values of state_entry.insn after all instructions have run, and in lookups. */
enum { BITS_SWITCHES = 254, BITS_TOLD = 255 };

/*
 * The cache was left with the walk at `pc`, or 0: where it wants an item. `outside`: what comes next is not the
 * program's code, so the walk is stopped.
 */
void tw_bits_left(struct thread *t, u64 pc, bool outside);

/* f is about to be entered: records that if it does not follow from the walk. S */
void tw_bits_enter(struct thread *t, const struct tw_recorded *f);

/*
 * The thread was interrupted in f at state s, with exact registers, pc and bufptr. `way_in`: not in f itself, but in
 * code that leads to it. S
 */
void tw_bits_interrupted(struct thread *t, const struct tw_recorded *f, const struct state_entry *s, bool way_in);

#endif

/*
 * Format cf_bit, from C: what a thread writes besides bits and targets. The bytes are told in channel/expand.h; the code of fragments writes them in
 * record/bits_code.h.
 *
 * A thread *walks* as long as what it runs follows from the code and from the bits and targets it writes. Before anything else can be said in its stream (an
 * event, an interrupted block) the walk is stopped: the open group of bits is closed, and a mark says where the walk stands. A START mark begins
 * it again.
 */
#ifndef TW_BITS_H
#define TW_BITS_H

#include "engine/record/recorded.h"
#include "engine/record/room.h"
#include "engine/record/instrumentor.h"

/* Values of state_entry.insn where all instructions have run, and in lookups. */
enum { BITS_SWITCHES = 254, BITS_TOLD = 255 };

/* Is the program in a process of format cf_bit? */
static inline bool tw_bits_recorded(void)
{
	return tw_form_of(tw_recorder.whole->format) == TW_FORM_BITS;
}

/* ... and are blocks being recorded (not so outside of a window)? */
static inline bool tw_bits_used(void)
{
	return tw_form_now() == TW_FORM_BITS;
}

/* A walk that comes to f's address does not mean f: it must be said. */
static inline bool tw_bits_announced(const struct tw_recorded *f)
{
	return f->announced && tw_bits_used();
}

/* The cache was left where the walk stands at `pc`, or 0: where it wants an item. `outside`: what comes next is not of the program's code, so it is stopped. */
void tw_bits_left(struct thread *t, u64 pc, bool outside);

/* Stops the walk, which stands at t->record->stop_pc. */
void tw_bits_stop(struct thread *t);

/* f is about to be entered: says so if that does not follow. S */
void tw_bits_enter(struct thread *t, const struct tw_recorded *f);

/* The thread was interrupted in f at state s, with exact registers, pc and bufptr. `way_in`: that is not f itself, but code that leads to it. S */
void tw_bits_interrupted(struct thread *t, const struct tw_recorded *f, const struct state_entry *s, bool way_in);

#endif

/*
 * Format cf_bit, from C: what a thread writes besides bits and targets. The bytes are told in channel/expand.h; the code of fragments writes them in
 * x86_64/bit.h.
 *
 * A thread *walks* as long as what it runs follows from the code and from the bits and targets it writes. Before anything else can be said in its stream (an
 * event, an interrupted block) the walk is stopped: the open group of bits is closed, and a mark says where the walk stands. A START mark begins
 * it again.
 */
#ifndef TW_BITS_H
#define TW_BITS_H

#include "engine/fragment.h"
#include "instrument/instrumentor.h"

/* Values of state_entry.insn where all instructions have run, and in landings. */
enum { BITS_SWITCHES = 254, BITS_TOLD = 255 };

/* Is the program in a process of format cf_bit? */
static inline bool tw_bits_recorded(void)
{
	return tw_form_of(tw_engine.recorder->format) == TW_FORM_BITS;
}

/* ... and are blocks being recorded (not so outside of a window)? */
static inline bool tw_bits_used(void)
{
	return tw_form_now() == TW_FORM_BITS;
}

/* A walk that comes to f's address does not mean f: it must be said. */
static inline bool tw_bits_announced(const struct fragment *f)
{
	return f->announced && tw_bits_used();
}

/* The cache was left by x; t->pc is known, and is where it goes on but for what a system call does. */
void tw_bits_left(struct thread *t, const struct exit *x);

/* Stops the walk, which stands at t->stop_pc. */
void tw_bits_stop(struct thread *t);

/* f is about to be entered: says so if that does not follow. S */
void tw_bits_enter(struct thread *t, const struct fragment *f);

/* The thread was interrupted in f at state s, with exact registers, pc and bufptr. S */
void tw_bits_interrupted(struct thread *t, const struct fragment *f, const struct state_entry *s);

#endif

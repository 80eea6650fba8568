/*
 * A thread that only computes comes by nothing where it would hand over what it has written, unless its buffer is full; and loops whose turns are counted write little. So the
 * collector asks it (base/channel.h, enum tw_slot_ask), and the thread hands its buffer over where it comes by the dispatcher next.
 */
#ifndef TW_ASK_H
#define TW_ASK_H

#include "engine/engine.h"

/* A signal of the engine's timers has come, which may be the collector's. */
void tw_ask_tick(struct thread *t);

/* Is the thread to come by the dispatcher? */
bool tw_ask_is_due(const struct thread *t);

/* In the dispatcher: hands over. S, as buffer.h has it. */
void tw_ask_look(struct thread *t);

/* The thread can be asked from now on, if it has a slot. */
void tw_ask_open(struct thread *t);

/* It is about to end, or to become another program: waits for a signal that is on its way. */
void tw_ask_close(struct thread *t);

#endif

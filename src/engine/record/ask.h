/*
 * A thread that only computes hands over what it has written only when its buffer is full; and counted loops write
 * little. So the collector asks it (base/channel.h, enum tw_slot_ask), and the thread hands its buffer over the next
 * time it enters the dispatcher.
 */
#ifndef TW_ASK_H
#define TW_ASK_H

#include "engine/engine.h"

/* A timer signal of the engine has come, possibly sent by the collector. */
void tw_ask_tick(struct thread *t);

/* Is the thread to come by the dispatcher? */
bool tw_ask_is_due(const struct thread *t);

/* In the dispatcher: hands over. S, see buffer.h. */
void tw_ask_look(struct thread *t);

/* The thread can be asked from now on, if it has a slot. */
void tw_ask_open(struct thread *t);

/* It is about to end, or to become another program: waits for a signal that is under way. */
void tw_ask_close(struct thread *t);

#endif

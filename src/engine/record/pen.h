/*
 * The pen of a thread: where it writes, in its buffer or in the slack after that buffer's guard page. Nothing here
 * takes another buffer: the writer has made sure that there is room (buffer.h), except for the end of a walk.
 *
 * A thread that counts its records itself (tally.h) has two: one in a buffer of its own, and one in its slot's, for
 * what it tells.
 */
#ifndef TW_PEN_H
#define TW_PEN_H

#include "engine/record/room.h"

/* n bytes, or nothing if p is NULL. */
void tw_pen_put(struct thread *t, const void *p, u32 n);

/* Writes an event of two parts. A reader that finds it finds all of it. */
void tw_pen_event(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb);

/*
 * Form of bits: appends to what has been written, in the slack if there is no room left in the data. This is little,
 * and there is room for it.
 */
void tw_pen_append(struct thread *t, const void *p, u32 n);

/* Is it in the slack? Then buffers must be switched before the cache is entered. */
bool tw_pen_in_slack(const struct thread *t);

/* Is there room for this many bytes without a switch? */
bool tw_pen_has_room(const struct thread *t, u32 bytes);

/* A thread that counts for itself switches to the buffer of its slot, or back to its own. */
void tw_pen_turn(struct thread *t);

#endif

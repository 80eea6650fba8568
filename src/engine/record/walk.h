/*
 * Format cf_bit: the state of a thread's walk, as given by its stream.
 *
 * A thread *walks* as long as what it runs follows from the code and from the bits and targets it writes. Before
 * anything else can be written to its stream (an event, an interrupted block) the walk is stopped: the open group of
 * bits is closed, and a mark says where the walk is. A START mark resumes it.
 */
#ifndef TW_ENGINE_WALK_H
#define TW_ENGINE_WALK_H

#include "engine/record/room.h"

/* A word of the stream. */
void tw_walk_put(struct thread *t, u32 v);

/* It begins with the block of this tag. There is room for it. */
void tw_walk_begin(struct thread *t, u32 tag);

/* Stops the walk, which stands at t->record->stop_pc. */
void tw_walk_stop(struct thread *t);

/* The group is complete and has been stored: there is another. */
void tw_walk_next_group(struct thread *t);

#endif

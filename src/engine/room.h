/*
 * The engine's end of rooms: where the processes of one program keep the descriptors they make (channel/channel.h has what must hold). A process maps
 * the room of its program when its first thread gets a slot, and its forks inherit it.
 */
#ifndef TW_ENGINE_ROOM_H
#define TW_ENGINE_ROOM_H

#include "engine/engine.h"

/*
 * A thread has reserved this slot: has it name the room of the program, which gets one if it has none. False: it cannot record, since it has come too
 * late (its parent was killed while it made it, and the room given up), or the collector has died.
 */
bool tw_room_enter(struct tw_slot *s);

/*
 * Is there a room to describe fragments in? Who has no slot must look: without one there is only for who shares the memory of a thread that
 * has (a vforked child that is not followed).
 */
bool tw_room_is_there(void);

/* A place for `bytes` of descriptors, to be published by tw_room_publish, under the descriptor lock: an offset in the room. 0: it is full. */
u64 tw_room_place_for(u32 bytes);
void tw_room_publish(u64 offset, u32 bytes);

/* The first of n numbers with the same upper half. 0: there are no more. Under the descriptor lock. */
u32 tw_room_numbers(u32 n);

#endif

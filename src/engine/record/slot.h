/*
 * The slots of the channel, on the engine's side: they tell the collector which threads exist (base/channel.h).
 */
#ifndef TW_SLOT_H
#define TW_SLOT_H

#include "base/channel.h"
#include "engine/record/room.h"

#define STORE_RELEASE(p, v) __atomic_store_n((u32 *)(p), (v), __ATOMIC_RELEASE)
#define LOAD_ACQUIRE(p)     __atomic_load_n((u32 *)(p), __ATOMIC_ACQUIRE)

/* The thread's, which has one. */
static inline struct tw_slot *tw_slot_of(const struct thread *t)
{
	return &tw_engine.control->slot[t->record->slot];
}

/*
 * Reserves a slot for the thread or process that is about to be created, or for this process as another program, so
 * that the collector always knows that somebody is there. For the time being pid and tid are those of an existing
 * thread. tw_slot_take takes it, in the child as well.
 */
void tw_slot_promise(struct thread *t, u32 pid, u32 tid);

/* The child has been created, with this pid and tid; pid 0: it has not. */
void tw_slot_promised_to(struct thread *t, u32 pid, u32 tid);

/*
 * Gives the thread a slot: the promised one, or a new one; and if anything is recorded the table that goes with it.
 * False: it is not to have one, or there is none, in which case recording has failed.
 */
bool tw_slot_take(struct thread *t);

/* The thread cannot use the slot that it was just given: it has none. */
void tw_slot_leave(struct thread *t);

/* The collector sees the thread from now on. */
void tw_slot_set_up(struct thread *t, u32 parent_pid);

/* The thread has ended, or becomes another program. Does nothing if it has no slot. */
void tw_slot_give_back(struct thread *t);

/* Wakes the collector: there is something to take. */
void tw_slot_ring(void);

#endif

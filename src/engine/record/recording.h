/*
 * Start and end of the recording of a thread: it gets its slot of the channel, its buffers, its budget and its window
 * of tallies, and gives them back.
 */
#ifndef TW_ENGINE_RECORDING_H
#define TW_ENGINE_RECORDING_H

#include "engine/record/room.h"

/*
 * Gives the thread a slot, which tells the collector that it exists, and if anything is recorded its first buffer. A
 * thread that is not recorded gets a spare buffer, outside the channel.
 */
void tw_recording_begin(struct thread *t, u32 parent_pid, u32 parent_tid);

/*
 * Hands over what is written and gives the slot back; the thread is about to end (or to become another program).
 * `status` as from waitpid; `what`: enum tw_ended.
 */
void tw_recording_end(struct thread *t, i32 status, u32 what);

#endif

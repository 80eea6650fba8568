/*
 * The engine's end of the channel: a thread's buffers, and the records and events it writes from C. The layout, and what must hold between both
 * ends, is in base/channel.h.
 *
 * Of the application's state only thread.regs is used, and it must be exact wherever a keyframe may be taken: at every call here that can switch
 * buffers (marked S). A thread that does not record (no collector, no slot) writes to a spare buffer that nobody reads, and that others like it
 * write to as well. One that counts its records itself (tally.h) has a buffer of its own for them; its events go to its slot.
 */
#ifndef TW_BUFFER_H
#define TW_BUFFER_H

#include "engine/record/recorded.h"
#include "engine/record/room.h"

/*
 * Gives the thread a slot, by which the collector knows that it is there, and if anything is recorded its first buffer. A thread that is not
 * recorded gets a spare buffer, outside the channel.
 */
void tw_buffer_attach(struct thread *t, u32 parent_pid, u32 parent_tid);

/*
 * Hands over what is written and gives the slot back; the thread is about to end (or to become another program). `status` as from waitpid; `what`:
 * enum tw_ended.
 */
void tw_buffer_detach(struct thread *t, i32 status, u32 what);

/* Ends the current buffer and goes on in the next. S */
void tw_buffer_switch(struct thread *t);

/*
 * Before a system call, at the time `now`: hands over what was written if it has stood in the buffer for long, so that the collector stores it though the buffer is not full. Threads of a
 * crowd keep theirs: each further buffer takes mappings, of which a process may have so many. S
 */
void tw_buffer_hand_over(struct thread *t, u64 now);

/* Appends an event; switches first if there is no room. S */
void tw_buffer_event(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb);

/* All registers as they are now in thread.regs. S */
void tw_buffer_keyframe(struct thread *t);

/*
 * Tallied thread (tally.h): puts a copy of a record of f where the collector reads it; `p`: it stopped early, or NULL. Does nothing if there is no
 * collector for this thread. The second takes back the last one, of that many bytes, which did not stop early.
 */
void tw_buffer_tell(struct thread *t, const struct tw_recorded *f, const struct tw_partial *p, const void *record, u32 bytes);
void tw_buffer_untell(struct thread *t, u32 bytes);

/* Makes sure that `bytes` can be written without a switch. S */
void tw_buffer_reserve(struct thread *t, u32 bytes);

/* The time, for an event that is written next: makes room for it first, so that no KEYFRAME with a later time comes between. S */
u64 tw_buffer_time(struct thread *t);

/* Form of bits: appends to what has been written, in the slack if there is no room left in the data. There is little of it, and room for that. */
void tw_buffer_put(struct thread *t, const void *p, u32 n);

/* Does it stand in the slack? Then buffers must be switched before the cache is entered. */
bool tw_buffer_in_slack(const struct thread *t);

/* Is there room for this many bytes without a switch? */
bool tw_buffer_has_room(const struct thread *t, u32 bytes);

/* Writes the upper half that f wants if it is not in force. S */
void tw_buffer_upper(struct thread *t, const struct tw_recorded *f);

/* Is this address in the guard page behind the data of the thread's buffer? */
bool tw_buffer_guard(const struct thread *t, u64 address);

/*
 * The record at `start` stopped early: puts a PARTIAL event before it and moves thread.bufptr past it. thread.regs are the registers at the stop. S
 */
void tw_buffer_partial(struct thread *t, u64 start, const struct tw_recorded *f, u32 insns, bool in_rep);

/*
 * Tagged form: the record that has been written up to `end` stopped early; `values` is where value slot 0 of the fragment is or would be. It ends the
 * buffer; the PARTIAL event, and the REFS event if there is one, are put into the slack, and the thread goes on in the next buffer. S
 */
void tw_buffer_stop(struct thread *t, u64 values, u64 end, const struct tw_recorded *f, u32 insns, bool in_rep);

#endif

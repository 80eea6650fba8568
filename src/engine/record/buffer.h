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

/* Ends the current buffer and goes on in the next. S */
void tw_buffer_switch(struct thread *t);

/*
 * Before a system call, at the time `now`: hands over what was written if it has stood in the buffer for long, so that the collector stores it though the buffer is not full. Threads of a
 * crowd keep theirs: each further buffer takes mappings, of which a process may have so many. S
 */
void tw_buffer_hand_over(struct thread *t, u64 now);

/* Waits until the collector has given the next n buffers back, a signal is to be delivered, or so many ns have gone by. Returns how many have. */
u64 tw_buffer_await(struct thread *t, u32 n, u64 most_ns);

/* Appends an event; switches first if there is no room. S */
void tw_buffer_event(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb);

/*
 * Are events of this type written now? It counts what the thread's stream says, not the window's mode: a thread that was in a system call while the window was
 * closed and opened again has not missed anything.
 */
bool tw_buffer_keeps(const struct thread *t, u16 event);

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

/* Writes the upper half that f wants if it is not in force. S */
void tw_buffer_upper(struct thread *t, const struct tw_recorded *f);

/* Is this address in the guard page behind the data of the thread's buffer? */
bool tw_buffer_guard(const struct thread *t, u64 address);

/* ---- of a thread that begins and ends to be recorded (recording.h) ---- */

/* Makes buffer `b` of its slot the thread's, accessible the first time it is used. False: that it cannot be. */
bool tw_buffer_take(struct thread *t, u32 b);

/* From here on the thread is not recorded. */
void tw_buffer_take_spare(struct thread *t);

/* The thread goes on in this buffer, from its start. */
void tw_buffer_open(struct thread *t, u8 *buffer);

/* The collector may have the buffer that the thread writes to. */
void tw_buffer_close(struct thread *t);

/* A thread that counts for itself is about to write over what is in its own buffer. */
void tw_buffer_note_written(struct thread *t);

#endif

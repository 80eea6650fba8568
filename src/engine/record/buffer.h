/*
 * The engine's end of the channel: a thread's buffers, and the records and events that it writes from C.
 * base/channel.h has the layout and the invariants between both ends.
 *
 * Of the application's state only thread.regs is used. It must be exact wherever a keyframe may be taken: at every
 * call here that can switch buffers (marked S). A thread that does not record (no collector, no slot) writes to a
 * spare buffer that nobody reads and that other such threads write to as well. A thread that counts its records
 * itself (tally.h) has a buffer of its own for them; its events go to its slot.
 */
#ifndef TW_BUFFER_H
#define TW_BUFFER_H

#include "engine/record/recorded.h"
#include "engine/record/room.h"

/* Ends the current buffer and continues in the next. S */
void tw_buffer_switch(struct thread *t);

/*
 * Before a system call, at the time `now`: hands over what was written if it has been in the buffer for long, so that
 * the collector stores it although the buffer is not full. If there are many threads, they keep theirs: each further
 * buffer takes mappings, whose number per process is limited. S
 */
void tw_buffer_hand_over(struct thread *t, u64 now);

/*
 * Waits until the collector has returned the next n buffers, a signal is to be delivered, or this many ns have
 * passed. Returns how many ns have.
 */
u64 tw_buffer_await(struct thread *t, u32 n, u64 most_ns);

/* Appends an event; switches first if there is no room. S */
void tw_buffer_event(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb);

/*
 * Are events of this type written now? This depends on what the thread's stream says, not on the window's mode: a
 * thread that was in a system call while the window was closed and opened again has missed nothing.
 */
bool tw_buffer_keeps(const struct thread *t, u16 event);

/* All registers as they are in thread.regs. S */
void tw_buffer_keyframe(struct thread *t);

/*
 * Tallied thread (tally.h): copies a record of f to where the collector reads it; `p`: it stopped early, or NULL.
 * Does nothing if there is no collector for this thread. The second function takes back the last record, of that many
 * bytes, which did not stop early.
 */
void tw_buffer_tell(struct thread *t, const struct tw_recorded *f, const struct tw_partial *p, const void *record, u32 bytes);
void tw_buffer_untell(struct thread *t, u32 bytes);

/* Makes sure that `bytes` can be written without a switch. S */
void tw_buffer_reserve(struct thread *t, u32 bytes);

/* The time for an event that is written next: makes room for the event first, so that no KEYFRAME with a later time comes in between. S */
u64 tw_buffer_time(struct thread *t);

/* Writes the upper half that f needs if it is not the current one. S */
void tw_buffer_upper(struct thread *t, const struct tw_recorded *f);

/* Is this address in the guard page behind the data of the thread's buffer? */
bool tw_buffer_guard(const struct thread *t, u64 address);

/* ---- for a thread that starts or ends to be recorded (recording.h) ---- */

/* Makes buffer `b` of its slot the thread's, accessible from its first use on. False: this is not possible. */
bool tw_buffer_take(struct thread *t, u32 b);

/* From here on the thread is not recorded. */
void tw_buffer_take_spare(struct thread *t);

/* The thread continues in this buffer, from its start. */
void tw_buffer_open(struct thread *t, u8 *buffer);

/* The collector may have the buffer that the thread writes to. */
void tw_buffer_close(struct thread *t);

/* A thread that counts for itself is about to overwrite its own buffer. */
void tw_buffer_note_written(struct thread *t);

#endif

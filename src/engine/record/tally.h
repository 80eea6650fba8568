/*
 * Tallies: with --sink=count nobody reads a thread's records, so it counts them itself, and overwrites them.
 *
 * Each exit of a fragment whose every execution counts the same has an entry, a quadword in a window of the thread's
 * slot (channel.h), and the code that closes its record adds 1 there. The collector adds up the windows of threads
 * that have ended or been killed; windows are shared memory. What does not count the same each time - records whose
 * values hold the number of references, records that stopped early, events - is *told*: it goes to the slot's
 * buffers, which the collector reads as always. So is everything for which no entry is left.
 *
 * What must hold:
 *  - The buffer that records are written to is the thread's own, outside the channel (thread.record.other is the pen
 *    in the slot's buffer meanwhile).
 *  - A record is tallied by one store; from that store until the record is closed, the state says STATE_TALLIED. So
 *    if a fragment is interrupted, tw_tally_interrupted completes the count of a complete record, and undoes that of
 *    an incomplete one.
 *  - The iterations of a loop are tallied at its exit (STATE_TURNS, likewise); if it is interrupted before, they are
 *    in the record that holds their number.
 *  - The program finds its flags and registers as they were (record/tally_code.h).
 *  - The window belongs to the running thread; it follows its block and so is addressed by %gs, and nobody else
 *    writes there. It is another mapping of the slot's window in the channel; for a thread that is not recorded it is
 *    private memory.
 */
#ifndef TW_TALLY_H
#define TW_TALLY_H

#include "engine/record/room.h"
#include "engine/record/recorded.h"

/* Puts the window of its slot behind the block of t. False: that cannot be had, and what is there now may be nothing at all. */
bool tw_tally_open(struct thread *t);

/* Puts memory that nobody reads there instead: a block has a window before its thread has a slot. False: likewise. */
bool tw_tally_close(struct thread *t);

/* The entry of a loop's own path: of its turns. */
static inline u32 tw_tally_turns_entry(const struct tw_recorded *f)
{
	return f->tally + tw_path_count(f) - 1;
}

/* f, whose record begins at `start`, was left at state s. */
void tw_tally_interrupted(struct thread *t, const struct tw_recorded *f, const struct state_entry *s, u64 start);

/* The clean call of a path that has no entry: tells its record, which stands at thread.bufptr. */
void tw_tally_tell(struct thread *t, const struct tw_recorded *f, u8 path);

#endif

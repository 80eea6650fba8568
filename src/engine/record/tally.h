/*
 * Tallies: with --sink=count nobody reads the records of a thread, so it counts them itself, and writes them over one another.
 *
 * Each way out of a fragment whose every execution counts the same has an entry, a quadword in a window of the thread's slot (channel.h), and the code
 * that closes its record adds 1 there. The collector adds the windows up when their threads have ended, or have been killed: they are shared memory.
 * What does not count the same each time - records whose values tell how many references there were, those that stopped early, events - the
 * thread *tells*: it goes to the slot's buffers, which the collector reads as it always does. So does what finds no entry left.
 *
 * What must hold:
 *  - The buffer that records are written to is the thread's own, outside the channel (thread.record.other is the pen in the slot's buffer meanwhile).
 *  - Up to the store that counts it a record is not tallied; behind that, until it is closed, the state says STATE_TALLIED. So where a fragment is
 *    interrupted, tw_tally_interrupted does what is missing of one that is complete, and takes back what was counted of one that is not.
 *  - A loop's turns are tallied where it is left (STATE_TURNS, likewise); interrupted before, they are in the record that says their number.
 *  - The program finds its flags and registers as they were (record/tally_code.h).
 *  - The window is that of the thread that runs, behind its block and so addressed by %gs: nobody else writes there. It is another mapping of the
 *    slot's in the channel; where the thread is not recorded, memory of its own.
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

/*
 * Tallies: with --sink=count nobody reads the records of a thread, so it counts them itself, and writes them over one another.
 *
 * Each way out of a fragment whose every execution counts the same has an entry, a quadword in a window of the thread's slot (channel.h), and the code
 * that closes its record adds 1 there. The collector adds the windows up when their threads have ended, or have been killed: they are shared memory.
 * What does not count the same each time - records whose values tell how many references there were, those that stopped early, events - the
 * thread *tells*: it goes to the slot's buffers, which the collector reads as it always does. So does what finds no entry left.
 *
 * What must hold:
 *  - The buffer that records are written to is the thread's own, outside the channel (thread.other is the pen in the slot's buffer meanwhile).
 *  - Up to the store that counts it a record is not tallied; behind that, until it is closed, the state says STATE_TALLIED. So where a fragment is
 *    interrupted, tw_tally_interrupted does what is missing of one that is complete, and takes back what was counted of one that is not.
 *  - A loop's turns are tallied where it is left (STATE_TURNS, likewise); interrupted before, they are in the record that says their number.
 *  - Flags stay; one register is borrowed.
 *  - The window is that of the thread that runs, behind its block and so addressed by %gs: nobody else writes there. It is another mapping of the
 *    slot's in the channel; where the thread is not recorded, memory of its own.
 */
#ifndef TW_TALLY_H
#define TW_TALLY_H

#include "engine/engine.h"
#include "engine/fragment.h"
#include "engine/x86_64/decode.h"
#include "engine/x86_64/emit.h"

/* Does this program count for itself? */
static inline bool tw_tallies(void)
{
	return tw_engine.control->flags & TW_FLAG_TALLY;
}

/* Puts the window behind the block of t, which has its slot, or none. False: that cannot be had, and what it executes is not counted. */
bool tw_tally_open(struct thread *t);

/*
 * Where path 0 is counted before it is left: at an instruction behind its last branch, best at one that gives a register a value, which is not to be
 * given back then.
 */
struct tw_tally_place {
	u16 insn; /* NOWHERE: where the record is closed */
	u8 reg;   /* that insn defines, or TW_NOREG */
};
struct tw_tally_place tw_tally_place(const struct emit *e, const struct block *b);

/* Emits what counts path 0 there. Returns STATE_SPILL if the register is still borrowed, until insn has run. */
u32 tw_tally_emit_early(struct emit *e, struct tw_tally_place place, u32 flags);

/* Emits what counts the path being left, whose record is about to be closed. `flags`: of the state in force. */
void tw_tally_emit(struct emit *e, u8 insn, u32 flags);

/* Emits what counts the turns of the loop that is left; its number of turns is in its register still. */
void tw_tally_emit_turns(struct emit *e, u8 insn, u32 flags);

/* f, whose record begins at `start`, was left at state s. */
void tw_tally_interrupted(struct thread *t, const struct fragment *f, const struct state_entry *s, u64 start);

/* The clean call of a path that has no entry: tells its record, which stands at thread.bufptr. */
void tw_tally_tell(struct thread *t, const struct fragment *f, u8 path);

#endif

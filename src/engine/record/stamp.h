/*
 * Time stamps at locked instructions and fences (record --order): STAMP events, written by the code of the fragment.
 *
 * A stamped instruction is a fragment of its own. The first event precedes the fragment's record, the second follows
 * it, so formats and superblocks are not affected. The first time is read before the instruction takes effect: its
 * store precedes the instruction, which waits for earlier stores. The second is read after an lfence, when the
 * instruction has completed.
 *
 * What must hold: if a signal or a guard page stops the fragment before its record is open, the first event is taken
 * back and written again; if it stops after the instruction, tw_stamp_left writes the second.
 */
#ifndef TW_STAMP_H
#define TW_STAMP_H

#include "engine/record/recorded.h"
#include "engine/record/room.h"
#include "engine/x86_64/decode.h"
#include "engine/x86_64/emit.h"

/* Is this instruction to be stamped? */
bool tw_stamp_wanted(const struct insn *i);

/* Emits the first event, at the fragment's entry, or (`after`) the second, after its record is closed. `flags`: further state in force. */
void tw_stamp_emit(struct emit *e, const struct insn *i, bool after, u32 flags);

/*
 * f was left at state s, with exact registers and bufptr: writes the second event if still missing, or takes back the
 * first if there is no record.
 */
void tw_stamp_left(struct thread *t, const struct tw_recorded *f, const struct state_entry *s);

/* Is this the fault of a stamp's rdtsc, which the program has disabled (PR_SET_TSC)? Then the time is 0. */
bool tw_stamp_fault(const struct tw_recorded *f, u64 host);

#endif

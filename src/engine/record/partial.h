/*
 * Records that stopped early: by a fault, a signal, or the end of the buffer. A PARTIAL event says how many
 * instructions ran, and has all registers.
 *
 * If there is no room for that in the data it goes to the slack, and the thread continues in the next buffer.
 * thread.regs are the registers at the stop. S: see buffer.h.
 */
#ifndef TW_PARTIAL_H
#define TW_PARTIAL_H

#include "engine/record/recorded.h"

/* The record at `start` stopped early: puts a PARTIAL event before it and moves thread.bufptr past it. S */
void tw_partial_put(struct thread *t, u64 start, const struct tw_recorded *f, u32 insns, bool in_rep);

/*
 * Tagged form: the record written up to `end` stopped early; `values` is where the fragment's value slot 0 is or
 * would be. It ends the buffer; the PARTIAL event, and the REFS event if there is one, go to the slack, and the
 * thread continues in the next buffer. S
 */
void tw_partial_stop(struct thread *t, u64 values, u64 end, const struct tw_recorded *f, u32 insns, bool in_rep);

#endif

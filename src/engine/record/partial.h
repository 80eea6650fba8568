/*
 * Records that stopped early: by a fault, a signal, or the end of the buffer. A PARTIAL event says how many instructions ran, and has all registers.
 *
 * Where there is no room for that in the data it goes to the slack, and the thread goes on in the next buffer. thread.regs are the registers at the stop. Marked S, as in buffer.h.
 */
#ifndef TW_PARTIAL_H
#define TW_PARTIAL_H

#include "engine/record/recorded.h"

/* The record at `start` stopped early: puts a PARTIAL event before it and moves thread.bufptr past it. S */
void tw_partial_put(struct thread *t, u64 start, const struct tw_recorded *f, u32 insns, bool in_rep);

/*
 * Tagged form: the record that has been written up to `end` stopped early; `values` is where value slot 0 of the fragment is or would be. It ends the
 * buffer; the PARTIAL event, and the REFS event if there is one, are put into the slack, and the thread goes on in the next buffer. S
 */
void tw_partial_stop(struct thread *t, u64 values, u64 end, const struct tw_recorded *f, u32 insns, bool in_rep);

#endif

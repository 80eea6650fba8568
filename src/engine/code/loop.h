/*
 * Loops: superblocks whose path ends where it starts and that write no values. One record, written when the loop is
 * entered, holds the number of times in a row that the path was taken. Each further iteration costs an increment of a
 * register and a store of it, and nothing in the recording.
 *
 *      enter:  number of the loop's path and a count of 0 to the buffer; pointer past them; number of path 0 after that
 *              application's c_reg to thread.slot_c, 0 to c_reg; on to the path
 *      again:  c_reg + 1, and that to the count
 *      path:   ...
 *              back to `again`, by an exit of kind EXIT_LOOP; side exits as in other superblocks: they close a record of their own
 *
 * What must hold:
 *  - The count in the buffer is exact whenever the state map says that the path is at its start. After that the last
 *    iteration is one more execution of path 0, whose record is open (STATE_DONE, not CLOSED). So a signal, or the
 *    death of the process, finds a correct count.
 *  - Until c_reg is changed nothing has happened: a store that hits the guard page restarts the entry
 *    (STATE_NOT_OPEN).
 *  - A loop that becomes stale releases the threads in it: the back edge then leads to code that closes the record
 *    and leaves by a direct exit.
 */
#ifndef TW_LOOP_H
#define TW_LOOP_H

#include "engine/x86_64/emit.h"
#include "engine/record/instrumentor.h"

/* The register in which a fragment made of b, with this plan, could count its iterations; TW_NOREG: it cannot be a loop. */
u8 tw_loop_register(const struct block *b, const struct plan *p, u32 context, u8 t_reg);

/* The code before the path, and at its end. */
void tw_loop_enter(struct emit *e, const struct block *b);
void tw_loop_end(struct emit *e, const struct block *b, u32 context);

#endif

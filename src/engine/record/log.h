/*
 * The log of references: each is computed from the live registers at the moment it is made, with nothing remembered
 * from before. A fragment's log is written as one REFS event at its exit. This is format `call`, and what --verify
 * compares other formats with.
 *
 * A thread has one log (thread.record.log, from the first logged fragment on). If there is no memory for it the
 * recording fails.
 */
#ifndef TW_LOG_H
#define TW_LOG_H

#include "engine/record/room.h"

struct memop;
struct tw_op;

#define TW_LOG_LISTED 16u /* iterations of a string instruction listed one by one; more are logged as a run */

/* A fragment, the code at pc, starts: the log is empty. */
void tw_log_begin(struct thread *t, u64 pc);

/* The reference `op` is made to this address, and needs no other data. */
void tw_log_address(struct thread *t, const struct tw_op *op, u64 address);

/*
 * The reference m is about to be made with these registers. One with lanes needs saved vector registers; a repeated
 * string instruction is logged after it has run.
 */
void tw_log_reference(struct thread *t, const u64 *regs, const struct memop *m);

/* After the string instruction: what it did, by the change of the counter and the direction flag. */
void tw_log_rep_end(struct thread *t, const u64 *regs, const struct tw_op *op);

/* Saves the vector registers. False: there is no memory for them. */
bool tw_log_save_vectors(struct thread *t);

/* Writes the log of the fragment that has just run as a REFS event; nothing if there is none. S, as in buffer.h */
void tw_log_flush(struct thread *t);

/* Takes back the REFS event that was just written; its references are in the log again. */
void tw_log_take_back_event(struct thread *t);

/*
 * The record stops before instruction number `insn`, with the program's registers in t->regs: takes back what was
 * logged of it and of later ones, and logs what a preceding string instruction did, if it was stopped between that
 * instruction and the call that logs it.
 */
void tw_log_take_back(struct thread *t, u32 insn);

#endif

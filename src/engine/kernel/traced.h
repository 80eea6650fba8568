/*
 * A thread that another recorded one traces (ptrace) and has not executed a program since: what it traces is this engine, so the stops before and after its
 * system calls are made here. The tracer's engine (ptrace.h) has it continue where the application says PTRACE_SYSCALL, and says so in thread.kernel->traced;
 * then it sends itself a SIGTRAP at each, which stops it with all of its registers saved. Nobody sees the system calls that are the engine's own.
 *
 * What the tracer writes into the registers of a thread that is in the engine is put there too, and taken at the end of the stop, or of the system call.
 */
#ifndef TW_TRACED_H
#define TW_TRACED_H

#include "engine/kernel/room.h"

/* Makes the application's system call with `make`, and stops before and after. */
void tw_traced_syscall(struct thread *t, void (*make)(struct thread *t));

/* Takes the registers that the tracer has given, if it has. */
void tw_traced_replace(struct thread *t);

/* Is this a result that no program sees: is the call made again, natively by the kernel? */
bool tw_traced_is_restart(i64 result);

/* A child is about to be made, with the slot that is promised: options of the tracer's that the kernel gives it are its own. */
void tw_traced_clone(const struct thread *t);

#endif

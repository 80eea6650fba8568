/*
 * A thread that is traced (ptrace) by another recorded one and has not executed a program since. What its tracer
 * traces is this engine, so the stops before and after its system calls are made here. If the application asks for
 * PTRACE_SYSCALL, the tracer's engine (ptrace.h) continues the thread and says so in thread.kernel->traced. The
 * thread then sends itself a SIGTRAP at each stop, with all of its registers saved. The engine's own system calls
 * remain invisible.
 *
 * If the tracer writes the registers of a thread that is in the engine, the values are stored there, and take effect
 * at the end of the stop, or of the system call.
 */
#ifndef TW_TRACED_H
#define TW_TRACED_H

#include "engine/kernel/room.h"

/* Makes the application's system call through `make`, with stops before and after. */
void tw_traced_syscall(struct thread *t, void (*make)(struct thread *t));

/* Takes the registers that the tracer has written, if any. */
void tw_traced_replace(struct thread *t);

/* Is this a result that no program sees, because the kernel natively restarts the call? */
bool tw_traced_is_restart(i64 result);

/* A child is about to be created, with the promised slot: it inherits the tracer's options that the kernel passes on. */
void tw_traced_clone(const struct thread *t);

#endif

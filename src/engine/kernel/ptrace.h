/*
 * Tracing (ptrace), as the tracer's side sees it. What is traced may be the engine, in another process that is recorded, or in this one, whose threads the leak
 * sanitizer stops to find what their registers and stacks point to: the tracer is to see the application's registers and system calls, where the kernel shows
 * the engine's. Where the thread is in the engine its registers are in its struct thread, which is read, and written, through the kernel; see traced.h for
 * its stops. One that runs a program natively is left to the kernel.
 *
 * Limits: a thread that a signal which was sent stops within its code, where no system call is being made, shows the place in its translation as its rip, and
 * cannot be sent elsewhere; single steps are those of the translation; breakpoints are not seen by code that is translated already.
 */
#ifndef TW_PTRACE_H
#define TW_PTRACE_H

#include "engine/engine.h"

/* What is to be done with the call, arguments `a`, by who can make it with others. */
enum tw_ptrace {
	TW_PTRACE_PASS,     /* made as it is; then tw_ptrace_show */
	TW_PTRACE_CONTINUE, /* made as PTRACE_CONT */
	TW_PTRACE_ANSWERED, /* not made: *result is its result */
};
enum tw_ptrace tw_ptrace_begin(const u64 *a, i64 *result);

/* The request has been answered: makes what is at a[3] the application's, if it shows registers or a system call. *result may change. */
void tw_ptrace_show(const u64 *a, i64 *result);

/*
 * `tid`, which is being attached to, if it is of this memory: waits until it has stopped, for its tracer to see. Under the engine's lock, which no stopped thread is
 * to hold.
 */
void tw_ptrace_await(u32 tid);

/*
 * `tid` has stopped at this signal. True: none that its tracer is to see, and it has gone on. The engine's own faults and timers are such; faults of the
 * application's, which its engine sends once more when it knows their registers (signal/deliver.h); and the signal that it sends itself to die of one that has been seen.
 */
bool tw_ptrace_hide(u32 tid, i32 signo);

/* Does this status, of wait4 or in a siginfo, which says that `tid` stopped by SIGTRAP, stand for a stop at a system call that is to be told as PTRACE_O_TRACESYSGOOD has it? */
bool tw_ptrace_is_call(u32 tid);

#endif

/*
 * Tracing (ptrace), on the tracer's side. The tracee may be in the engine, in another recorded process, or in this
 * one, whose threads the leak sanitizer stops to examine their registers and stacks. The tracer must see the
 * application's registers and system calls, where the kernel shows the engine's. While a thread is in the engine its
 * registers are in its struct thread, which is read and written through the kernel; see traced.h for its stops. A
 * tracee that runs a program natively is left to the kernel.
 *
 * Limits: if a sent signal stops a thread within its code, outside a system call, its rip is the address in the
 * translation, and cannot be changed. Single steps are those of the translation. Breakpoints do not affect code that
 * is already translated.
 */
#ifndef TW_PTRACE_H
#define TW_PTRACE_H

#include "engine/engine.h"

/* How to treat the call with arguments `a`, depending on whether it can be combined with others. */
enum tw_ptrace {
	TW_PTRACE_PASS,     /* made as it is; then tw_ptrace_show */
	TW_PTRACE_CONTINUE, /* made as PTRACE_CONT */
	TW_PTRACE_ANSWERED, /* not made: *result is its result */
};
enum tw_ptrace tw_ptrace_begin(const u64 *a, i64 *result);

/*
 * The request has been answered: replaces what is at a[3] by the application's state, if it shows registers or a
 * system call. *result may change.
 */
void tw_ptrace_show(const u64 *a, i64 *result);

/*
 * `tid` is being attached to: if it is in this memory, waits until it has stopped, for its tracer to see. Under the
 * engine's lock, which no stopped thread may hold.
 */
void tw_ptrace_await(u32 tid);

/*
 * `tid` has stopped at this signal. True: its tracer must not see it, and it has been continued. This holds for the
 * engine's own faults and timers; for faults of the application, which its engine sends again when it knows the
 * registers (signal/deliver.h); and for the signal that a thread sends itself to die of one that has been seen.
 */
bool tw_ptrace_hide(u32 tid, i32 signo);

/*
 * Does this status, of wait4 or in a siginfo, according to which `tid` stopped by SIGTRAP, stand for a stop at a
 * system call that must be reported as PTRACE_O_TRACESYSGOOD requires?
 */
bool tw_ptrace_is_call(u32 tid);

#endif

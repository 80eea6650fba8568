/*
 * Signals. The kernel's handlers, alternate stacks and, for synchronous signals, the mask are the engine's; the
 * application's are emulated.
 *
 * What must hold:
 *  - SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP are never blocked in the kernel: guard pages and faults in the cache
 *    need them. (Exception: SIGTRAP in its own handler. Timers send it, possibly faster than the handler returns, and
 *    with AVX-512 a signal stack has room for five frames.) If the application's own mask (thread.signal.mask) blocks
 *    them, only the application sees that: what is sent by kill and the like meanwhile is pending here (pending.h)
 *    until the mask changes.
 *  - A signal taken in the cache is delivered at once: the state map gives exact registers and pc of an instruction
 *    boundary, the record of the fragment is closed with a PARTIAL event, and the thread continues in the handler's
 *    code. One taken in engine code is deferred (one at a time: the others stay blocked in the kernel) and delivered
 *    before the cache is entered again.
 *  - A system call that a signal interrupts behaves as natively: tw_app_syscall tells whether the kernel has seen it.
 *  - sigsuspend, ppoll and the like have a mask of their own. The kernel has it during the call; a handler that ends
 *    the call runs under it (thread.signal.wait_mask), and returns to the previous one.
 *  - The frame that the handler sees has the kernel's own layout (struct rt_sigframe), with the whole extended state.
 *  - The engine's handlers run on the thread's alternate stack with all asynchronous signals blocked.
 *
 * These functions are in mask.c, deliver.c, context.c and handler.c.
 */
#ifndef TW_SIGNAL_H
#define TW_SIGNAL_H

#include "engine/signal/room.h"

/*
 * The handler that the kernel has for all of them. A stopped thread whose next instruction is its first one has the
 * frame at its stack pointer.
 */
struct tw_ucontext;
void tw_signal_handler(int signo, siginfo_t *info, struct tw_ucontext *uc);

/*
 * Once per thread, with %gs, pid and tid set and all signals blocked: dispositions and the alternate stack. From then
 * on synchronous signals can arrive; the others once tw_signal_set_mask lets them, when everything they need is in
 * place.
 */
void tw_signal_thread(struct thread *t);

/* In a new process, with all signals blocked (they are pending for it alone): signals that had reached its parent did not reach it. */
void tw_signal_forget(struct thread *t);

/* Sends itself this signal, for a tracer to see. True: it came; false: the tracer suppressed it. */
bool tw_signal_own(struct thread *t, siginfo_t *info);

/* Delivers thread.signal.deferred; t->pc and t->regs are exact. */
void tw_signal_deliver_deferred(struct thread *t);

/*
 * The thread has given the kernel or the processor something unusable: like the kernel's force_sig for a general
 * protection fault with this error code.
 */
void tw_signal_force(struct thread *t, int signo, u64 error);

/* A page fault at `address` found by the engine, with this error code: delivered as SIGSEGV, or the process dies of it. */
void tw_signal_page_fault(struct thread *t, u64 address, u64 error);

/*
 * The code at `at`, where the instruction at t->pc starts or continues, cannot be read; `beyond_file`: although
 * something is mapped there.
 */
void tw_signal_no_code(struct thread *t, u64 at, bool beyond_file);

/*
 * SIGSYS with this code in place of the system call that t->regs ask for and that ends before t->pc: its handler
 * runs, or, if it is blocked or ignored, the process dies of it.
 */
void tw_signal_refused_call(struct thread *t, int code, int error);

/*
 * An entry into the cache was stopped: registers as the glue saved them, its destination in thread.resume_host.
 * Returns where to continue.
 */
u64 tw_signal_reentered(struct thread *t);

/* System calls (syscall.c): results as the kernel's. */
i64 tw_signal_procmask(struct thread *t, int how, u64 set, u64 old, u64 size);
i64 tw_signal_altstack(struct thread *t, u64 ss, u64 old);
void tw_signal_return(struct thread *t);

/* There is no deferred signal any more. */
void tw_signal_no_deferred(struct thread *t);

/* With all signals blocked: hands what is deferred or pending to the kernel. */
void tw_signal_requeue(struct thread *t);

/*
 * The thread is at `host` in the cache, with these registers: makes t->pc, t->regs and t->flags the application's.
 * False: not possible there, and nothing is changed.
 */
bool tw_signal_leave_cache(struct thread *t, const u64 *regs, u64 host, u64 flags);

/* Sets the application's mask, and the kernel's to match. */
void tw_signal_set_mask(struct thread *t, u64 mask);

/* Is anything mapped there? */
bool tw_engine_mapped(u64 address);

#endif

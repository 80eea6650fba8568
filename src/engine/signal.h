/*
 * Signals. The kernel's handlers, alternate stacks and, for synchronous signals, the mask are the engine's; the application's are emulated.
 *
 * What must hold:
 *  - SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP are never blocked in the kernel: guard pages and faults in the cache need them. The
 *    application's own mask (thread.sigmask) says otherwise only to itself: what is sent by kill and the like while it does is held in
 *    held.c until the mask changes.
 *  - A signal taken in the cache is delivered at once: the state map gives exact registers and pc of an instruction boundary, the record of the
 *    fragment is closed with a PARTIAL event, and the thread goes on in the handler's code. One taken in engine code is pended (one at a
 *    time: the rest stay blocked in the kernel) and delivered before the cache is entered again.
 *  - A system call that a signal interrupts behaves as natively: tw_app_syscall tells whether the kernel has seen it.
 *  - sigsuspend, ppoll and the like have a mask of their own. The kernel has it during the call; a handler that ends the call runs under it
 *    (thread.wait_mask), and returns to the one before.
 *  - The frame the handler sees is the kernel's own layout (struct rt_sigframe), with the whole extended state.
 *  - The engine's handlers run on the thread's alternate stack with all asynchronous signals blocked.
 */
#ifndef TW_SIGNAL_H
#define TW_SIGNAL_H

#include "engine/engine.h"

/* The signals the kernel must never block: a mask bit is 1 << (signo - 1). */
#define TW_SYNC_SIGNALS (1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGTRAP - 1))

/* Those that nothing blocks. */
#define TW_UNBLOCKABLE_SIGNALS (1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1))

static inline bool tw_signal_is_sync(int signo)
{
	return TW_SYNC_SIGNALS >> (signo - 1) & 1;
}

/* uapi has these in a header that does not go with the rest of asm/signal.h. */
#ifndef SS_ONSTACK
#define SS_ONSTACK 1
#define SS_DISABLE 2
#endif
#define SS_AUTODISARM_BIT 0x80000000u

/* The handler that the kernel has for all of them. */
struct tw_ucontext;
void tw_signal_handler(int signo, siginfo_t *info, struct tw_ucontext *uc);

/* Once per thread, with %gs set: the alternate stack, and the kernel's mask from thread.sigmask. */
void tw_signal_thread(struct thread *t);

/* Delivers thread.pending; t->pc and t->regs are exact. */
void tw_signal_deliver_pending(struct thread *t);

/* In the error code of a page fault. */
enum tw_fault_bits { FAULT_PRESENT = 1, FAULT_WRITE = 2, FAULT_USER = 4, FAULT_FETCH = 16 };

/* The thread has handed the kernel what it cannot use: as the kernel's force_sig. */
void tw_signal_force(struct thread *t, int signo);

/* A page fault at `address` that the engine has found, with this error code: delivered as SIGSEGV, or the process dies of it. */
void tw_signal_page_fault(struct thread *t, u64 address, u64 error);

/*
 * SIGSYS with this code instead of the system call that t->regs ask for and that ends before t->pc: its handler runs, or where it is blocked or ignored the
 * process dies of it.
 */
void tw_signal_refused_call(struct thread *t, int code, int error);

/* An entry into the cache was stopped: registers as the glue saved them, thread.resume_host where it was headed. Returns where to go on. */
u64 tw_signal_reentered(struct thread *t);

/* System calls (syscall.c): results as the kernel's. */
i64 tw_signal_procmask(struct thread *t, int how, u64 set, u64 old, u64 size);
i64 tw_signal_altstack(struct thread *t, u64 ss, u64 old);
void tw_signal_return(struct thread *t);

/* Sets the application's mask, and the kernel's to match. */
void tw_signal_set_mask(struct thread *t, u64 mask);

/* The mask in force. */
u64 tw_signal_mask(const struct thread *t);

/* Is anything mapped there? */
bool tw_engine_mapped(u64 address);

#endif

/*
 * The assembly between the application's code and the engine's C (glue.S). These are addresses; only those declared
 * as functions with arguments are called from C.
 */
#ifndef TW_GLUE_H
#define TW_GLUE_H

#include "engine/x86_64/room.h"

/* Leaves the cache: saves everything in the thread, calls the dispatcher on the engine stack, enters where it says. Stubs jump here. */
void tw_exit_cache(void);

/* The clean call: likewise for the function to be called (record/clean_call.h); returns after the call. Fragments jump here. */
void tw_clean_call(void);

/*
 * Restores the application's registers from the thread and jumps to thread.host_target. Signals between the two
 * labels restart the entry.
 */
void tw_enter_cache(void) __attribute__((noreturn));
extern const char tw_enter_begin[], tw_enter_end[];

/* Enters the cache from scratch: calls the dispatcher on an empty engine stack. Also where a signal handler returns to. */
void tw_resume_cache(void) __attribute__((noreturn));

/* Destination of an entry that a signal stopped: saves everything, then calls the function for that. */
void tw_reenter(void);

/*
 * Makes an application's system call with arguments from regs (rax, rdi, rsi, rdx, r10, r8, r9). Returns the kernel's
 * result, or TW_SYSCALL_ABORTED if a signal was pending or arrived before the kernel did anything: then the call must
 * be repeated after the signal is delivered.
 */
i64 tw_app_syscall(struct thread *t, const u64 *regs);
extern const char tw_syscall_begin[], tw_syscall_insn[], tw_syscall_end[], tw_syscall_abort[];
#define TW_SYSCALL_ABORTED (-512)

/* The same for a call of the 32-bit kind (rax, rbx, rcx, rdx, rsi, rdi, rbp). TW_INT80_FAULTS: the kernel has none. */
i64 tw_app_int80(struct thread *t, const u64 *regs);
extern const char tw_int80_begin[], tw_int80_insn[], tw_int80_end[], tw_int80_abort[], tw_int80_fault[];
#define TW_INT80_FAULTS (-600)

/*
 * Makes clone or clone3: regs has the number and the first five arguments. A child with a stack of its own pops a pointer and a function from it and calls
 * the function with the pointer; one without returns 0 from here.
 */
i64 tw_clone_thread(const u64 *regs);

/* Ends the calling thread by system call `nr` without touching its stack after *in_use is cleared. */
void tw_exit_thread(u32 *in_use, i32 status, u32 nr) __attribute__((noreturn));

/* rt_sigreturn restorer for the engine's handlers. */
void tw_restorer(void);

/* Loads extended state from what may not be a valid image: false, and nothing loaded, if that faults. */
bool tw_xrstor(const void *image, u64 mask);
extern const char tw_xrstor_insn[];

/*
 * Loads a selector. False, and nothing loaded, if that faults. The base of %gs is changed by it: no signal may arrive
 * before it is the thread again.
 */
bool tw_load_fs(u16 selector);
bool tw_load_gs(u16 selector);
extern const char tw_load_fs_insn[], tw_load_gs_insn[];

/* rt_sigreturn to the context that is here, in a frame of the kernel's layout. */
void tw_sigreturn(const void *ucontext) __attribute__((noreturn));

/*
 * rt_sigreturn that returns: only extended state, mask and alternate stack become those of the context; its rip and
 * rsp are set here. False: the kernel refused the extended state, with a SIGSEGV at tw_sigreturned, which continues
 * at tw_sigreturn_fault.
 */
struct tw_ucontext;
bool tw_sigreturn_here(struct tw_ucontext *context);
extern const char tw_sigreturned[], tw_sigreturn_fault[];

/*
 * Calls section(arg) and returns its result, 0 or more. TW_RESTART: the thread was interrupted in the section, by a
 * signal, by another thread that ran on its processor, or because it was stopped, and has continued here. Then parts
 * of the section may have been done. There are no such interruptions if the kernel does not know the thread's
 * restartable sequences (thread.rseq). A section makes no system call.
 */
#define TW_RESTART (-1)
int tw_restartable(int (*section)(void *arg), void *arg);

/*
 * The time stamp counter; 0 while the program has it disabled for itself (PR_SET_TSC): the fault at tw_tsc_insn
 * continues at tw_tsc_fault.
 */
u64 tw_tsc(void);
extern const char tw_tsc_insn[], tw_tsc_fault[];

#endif

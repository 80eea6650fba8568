/*
 * The assembly between the application's code and the engine's C (glue.S). Addresses; only those declared as functions with arguments are called from C.
 */
#ifndef TW_GLUE_H
#define TW_GLUE_H

#include "engine/x86_64/room.h"

/* Leaves the cache: saves everything in the thread, calls the dispatcher on the engine stack, enters where it says. Jumped to from stubs. */
void tw_exit_cache(void);

/* The clean call: the same with what is to be called (record/clean_call.h), coming back behind the call (jumped to from fragments). */
void tw_clean_call(void);

/* Restores the application's registers from the thread and jumps to thread.host_target. Signals between the two labels are turned back. */
void tw_enter_cache(void) __attribute__((noreturn));
extern const char tw_enter_begin[], tw_enter_end[];

/* Enters the cache from scratch: calls the dispatcher on an empty engine stack. Also where a signal handler returns to. */
void tw_resume_cache(void) __attribute__((noreturn));

/* Where an entry stopped by a signal goes instead: saves everything, then calls what is there for that. */
void tw_reenter(void);

/*
 * Makes an application's system call with arguments of regs (rax, rdi, rsi, rdx, r10, r8, r9). Returns what the kernel returned, or TW_SYSCALL_ABORTED
 * when a signal was pending or came before the kernel did anything: then it must be made again after the signal is delivered.
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

/* Loads extended state from what may be no image of it: false, and nothing loaded, where that faults. */
bool tw_xrstor(const void *image, u64 mask);
extern const char tw_xrstor_insn[];

/* Load a selector. False, and nothing loaded, where that faults. The base of %gs is another then: no signal may come before it is the thread again. */
bool tw_load_fs(u16 selector);
bool tw_load_gs(u16 selector);
extern const char tw_load_fs_insn[], tw_load_gs_insn[];

/* rt_sigreturn to the context that stands here, in a frame of the kernel's layout. */
void tw_sigreturn(const void *ucontext) __attribute__((noreturn));

/*
 * rt_sigreturn that comes back: only extended state, mask and alternate stack become those of the context, whose rip and rsp are set here. False: the kernel
 * refused the extended state, with a SIGSEGV at tw_sigreturned, which goes on at tw_sigreturn_fault.
 */
struct tw_ucontext;
bool tw_sigreturn_here(struct tw_ucontext *context);
extern const char tw_sigreturned[], tw_sigreturn_fault[];

/*
 * Calls section(arg) and returns what it does, 0 or more; TW_RESTART: the thread was interrupted in it, by a signal, by another thread that ran on its processor, or since it was
 * stopped, and has gone on here. Then some of what the section does is done, and some not. It is not interrupted so where the kernel does not know the thread's
 * restartable sequences (thread.rseq). A section makes no system call.
 */
#define TW_RESTART (-1)
int tw_restartable(int (*section)(void *arg), void *arg);

/* The time stamp counter; 0 while the program has it disabled for itself (PR_SET_TSC): the fault at tw_tsc_insn goes on at tw_tsc_fault. */
u64 tw_tsc(void);
extern const char tw_tsc_insn[], tw_tsc_fault[];

#endif

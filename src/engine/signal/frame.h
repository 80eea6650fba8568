/*
 * Signal frames, in the kernel's layout (arch/x86 uapi: struct rt_sigframe, ucontext, sigcontext, _fpx_sw_bytes).
 */
#ifndef TW_FRAME_H
#define TW_FRAME_H

#include "engine/signal/room.h"

/* struct ucontext with struct sigcontext spelt out. */
struct tw_ucontext {
	u64 flags, link;
	u64 ss_sp;
	u32 ss_flags, ss_pad;
	u64 ss_size;
	u64 r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
	u16 cs, gs, fs, ss;
	u64 err, trapno, oldmask, cr2;
	void *fpstate;
	u64 reserved[8];
	u64 sigmask;
};

/* The general registers of a context, by enum tw_reg. */
void tw_frame_registers(u64 *regs, const struct tw_ucontext *uc);
void tw_frame_set_registers(struct tw_ucontext *uc, const u64 *regs);

/* Does the application run on its alternate stack, if this is its stack pointer? One that is disarmed by each handler does not count. */
bool tw_frame_on_altstack(const struct thread *t, u64 sp);

/*
 * Sets it, with the flags as given: frames show them. On an error, nothing has changed: the thread is on the present
 * stack, or the new one is invalid.
 */
i64 tw_frame_set_altstack(struct thread *t, u64 sp, u64 size, u32 flags);

/*
 * Pushes the frame for the application's handler and sets t->regs and t->pc for its start. False: its stack cannot be
 * written, or its alternate stack is too small. `xstate`: image of the extended state (with the kernel's software
 * bytes), or NULL: it is live in the registers.
 */
bool tw_frame_push(struct thread *t, int signo, const siginfo_t *info, const struct ksigaction *a, const void *xstate);

/*
 * Undoes it, from t->regs[rsp] as rt_sigreturn finds it. Restores registers, pc, flags and extended state; returns
 * the mask in *mask. False: the frame cannot be read, or its extended state cannot be loaded.
 */
bool tw_frame_pop(struct thread *t, u64 *mask);

/* Leaves the engine for good: the thread continues in the program's own context, with its segment bases and this mask. */
void tw_frame_leave(const struct thread *t, u64 mask, const void *xstate) __attribute__((noreturn));

#endif

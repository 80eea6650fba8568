/*
 * Threads: each has a block of THREAD_BYTES in the low arena, with struct thread at its start, then the engine stack, then the alternate signal stack.
 * Blocks are handed out again when their thread has ended.
 */
#ifndef TW_THREAD_H
#define TW_THREAD_H

#include "engine/engine.h"

static inline struct thread *tw_thread_self(void)
{
	struct thread *t;
	__asm__("movq %%gs:%c1, %0" : "=r"(t) : "i"(T_SELF));
	return t;
}

/* A block for a new thread, or NULL when there are too many. */
struct thread *tw_thread_new(void);

/* Makes the calling thread `t`: %gs, alternate stack, ids. */
void tw_thread_adopt(struct thread *t);

/* The application's clone, clone3 (as flags), fork and vfork. Result as the kernel's. */
i64 tw_thread_clone(struct thread *t, u64 flags, u64 stack, u64 ptid, u64 ctid, u64 tls, u64 exit_signal);

/* The thread is about to end: hands its buffers over. `status`: exit status, or a signal's number. */
void tw_thread_finish(struct thread *t, i32 status);

/* exit: ends the calling thread only. */
void tw_thread_exit(struct thread *t, i32 status) __attribute__((noreturn));

#endif

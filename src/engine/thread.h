/*
 * Threads: each has a block of THREAD_BYTES, with struct thread at its start, then the engine stack, then the alternate signal stack. Where threads count
 * what they execute (tally.h) a window is behind it.
 * Blocks are handed out again when their thread has ended. That of a child made with CLONE_VFORK is given back by its parent, which knows when it
 * goes on that the child uses the memory no more.
 */
#ifndef TW_THREAD_H
#define TW_THREAD_H

#include "engine/engine.h"
#include <linux/sched.h>

static inline struct thread *tw_thread_self(void)
{
	struct thread *t;
	__asm__("movq %%gs:%c1, %0" : "=r"(t) : "i"(T_SELF));
	return t;
}

/* Before the first thread. False: there is no room. */
bool tw_thread_init(void);

/* Is any of this where blocks are, or will be? */
bool tw_thread_place(u64 start, u64 end);

/* A core dump does not have the blocks. */
void tw_thread_leave_out_of_dump(void);

/* Which block it is, from 0. */
u32 tw_thread_index(const struct thread *t);

/* A block for a new thread, or NULL when there are too many. */
struct thread *tw_thread_new(void);

/* Makes the calling thread `t`: %gs, alternate stack, ids. */
void tw_thread_adopt(struct thread *t);

/* Is a thread other than t in the cache (tw_fragment_make_room)? */
bool tw_thread_in_cache(const struct thread *t);

/* What the application asks for with clone, clone3, fork or vfork, in clone3's words. */
struct tw_clone {
	struct clone_args args; /* stack: its lowest byte, or with stack_size 0 its end */
	u64 size;               /* of args, as the application gave it */
	bool modern;            /* clone3: to be made as such */
};

/* Result as the kernel's. */
i64 tw_thread_clone(struct thread *t, const struct tw_clone *c);

/* The threads of t's process but t itself, one after another: that after `after`, or with NULL the first. NULL: there is none. */
struct thread *tw_thread_next(const struct thread *t, const struct thread *after);

/* The thread of this number that shares this memory, in this process or in another, or NULL. */
const struct thread *tw_thread_of(u32 tid);

/* Another thread of the process that does not block this signal, or NULL. */
struct thread *tw_thread_unblocked(const struct thread *t, int signo);

/* The thread is about to end: hands its buffers over. `status`: as from waitpid; `what`: enum tw_ended. */
void tw_thread_finish(struct thread *t, i32 status, u32 what);

/* exit: ends the calling thread only; exit_group: all of its process. */
void tw_thread_exit(struct thread *t, i32 status, bool group) __attribute__((noreturn));

#endif

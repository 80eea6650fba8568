/*
 * Threads: each has a block of THREAD_BYTES, with struct thread and each room's part of it at its start, then the
 * engine stack, then the alternate signal stack. If threads count what they execute (record/tally.h) a window
 * follows. Blocks are reused when their thread has ended. The block of a child made with CLONE_VFORK is released by
 * its parent, which knows, when it continues, that the child no longer uses the memory.
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

/*
 * Before the first thread. Each block is followed by `behind` bytes, and all blocks by `aside`, which nobody can
 * access yet; `begin` is called for a block that is used for the first time. False: there is no room.
 */
bool tw_thread_init(u64 behind, u64 aside, bool (*begin)(struct thread *t));

/* A block for a new thread, or NULL when there are too many. `make` fills it before anybody sees it. */
struct thread *tw_thread_take_block(void (*make)(struct thread *t));

/* Nobody takes one meanwhile (fork). */
void tw_thread_lock_blocks(void);
void tw_thread_unlock_blocks(void);

/* Where blocks are, or will be, including what is reserved after them, and how much that is. Before tw_thread_init: 0. */
u64 tw_thread_place(void);
u64 tw_thread_bytes(void);

/* Where that begins which is set aside. */
u64 tw_thread_set_aside(void);

/* Leaves the blocks out of core dumps. */
void tw_thread_leave_out_of_dump(void);

/* Which block it is, from 0. */
u32 tw_thread_index(const struct thread *t);

/* All threads that share this memory, one after another: the one after `after`, or with NULL the first. NULL: there is none. */
struct thread *tw_thread_any(const struct thread *after);

/* The same for t's process, except t itself. */
struct thread *tw_thread_next(const struct thread *t, const struct thread *after);

/* The thread of this number that shares this memory, in this process or in another, or NULL. */
const struct thread *tw_thread_of(u32 tid);

/* In a forked child, whose only thread is t: the threads of the parent are not there. */
void tw_thread_forget_others(const struct thread *t);

#endif

/*
 * Restartable sequences, rseq(2).
 *
 * A thread has none of its own while it is the engine's, which has one (record/descriptor_lock.h): for the kernel the program's code is elsewhere. Registering them is refused, as by a kernel that does not know them. The program
 * that was there before the engine (attach.h) may rely on them, though: the C library that has begun to make a thread while it had them ends the program if the new thread cannot register its own.
 * There registering succeeds, and holds from when the engine leaves.
 */
#ifndef TW_ENGINE_RSEQ_H
#define TW_ENGINE_RSEQ_H

#include "engine/kernel/room.h"

/* The process was there before, as its children are. */
void tw_rseq_allow(void);

/* What the thread has of them (struct tw_found) is registered with the kernel again, or not any more. */
void tw_rseq_register(struct thread *t, bool registered);

i64 tw_sys_rseq(struct thread *t, const u64 *a);
i64 tw_sys_membarrier(struct thread *t, const u64 *a);

#endif

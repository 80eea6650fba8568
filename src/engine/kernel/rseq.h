/*
 * Restartable sequences, rseq(2).
 *
 * A thread has none of its own while it is in the engine, which uses one (record/descriptor_lock.h), and for the
 * kernel the program's code is elsewhere. Registering them is refused, as by a kernel that does not know them. But a
 * program that was attached to (attach.h) may rely on them: if the C library had them when it started to create a
 * thread, it ends the program if the new thread cannot register its own. There registering succeeds, and takes effect
 * when the engine leaves.
 */
#ifndef TW_ENGINE_RSEQ_H
#define TW_ENGINE_RSEQ_H

#include "engine/kernel/room.h"

/* The process was running before the engine, and so were its children. */
void tw_rseq_allow(void);

/* Registers the thread's own (struct tw_found) with the kernel again, or unregisters them. */
void tw_rseq_register(struct thread *t, bool registered);

i64 tw_sys_rseq(struct thread *t, const u64 *a);
i64 tw_sys_membarrier(struct thread *t, const u64 *a);

#endif

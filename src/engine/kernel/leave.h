/*
 * Leaving the engine: a recorded process continues natively while it runs (base/leave.h has what the recorder does).
 *
 * What must hold:
 *  - A thread parks with its program's exact state, outside all locks, without references into the cache, its record
 *    closed, and its recording ended.
 *  - Signals that the engine keeps for it are pending in the kernel again; its alternate stack and restartable
 *    sequences are the kernel's, too.
 *  - Between stopping a thread and continuing it, nothing makes a system call that changes what the kernel knows of
 *    the rest of a wait (restart_syscall).
 *  - Everything can be undone until the process is given back, which is done when all threads have parked.
 */
#ifndef TW_ENGINE_LEAVE_H
#define TW_ENGINE_LEAVE_H

#include "engine/kernel/room.h"

/* Says in the channel where all this is. */
void tw_leave_tell(void);

/* The thread, with its program's exact state, is to leave, or has a deferred signal: leaves, or delivers that. */
void tw_leave_or_deliver(struct thread *t);

#endif

/*
 * Out of the engine again: a recorded process goes on natively while it runs (base/leave.h has what the recorder does).
 *
 * What must hold:
 *  - A thread parks with its program's exact state, outside of all locks, with nothing of the cache in its hands, its record closed, and its recording ended.
 *  - Signals that the engine keeps for it are the kernel's again, pending; its alternate stack and restartable sequences are the kernel's, too.
 *  - Nothing between stopping a thread and its going on makes a system call that sets what the kernel knows of the rest of a wait (restart_syscall).
 *  - Whatever has been done can be undone until the process is given back, which is done when all threads have parked.
 */
#ifndef TW_ENGINE_LEAVE_H
#define TW_ENGINE_LEAVE_H

#include "engine/kernel/room.h"

/* Says in the channel where all this is. */
void tw_leave_tell(void);

/* The thread, with its program's state exact, is to leave, or has a deferred signal: leaves, or delivers that. */
void tw_leave_or_deliver(struct thread *t);

#endif

/*
 * Syscall user dispatch (prctl PR_SET_SYSCALL_USER_DISPATCH): a thread asks for its system calls, except those of one
 * range of code, to be sent to itself as SIGSYS while a byte of its memory says so. The kernel is never told, since
 * it would send the engine's own calls, too.
 *
 * As natively, new threads and processes start without it, and so does an executed program.
 * PR_SYS_DISPATCH_INCLUSIVE_ON (Linux 6.17) is refused with EINVAL, as by a kernel that does not know it.
 */
#ifndef TW_USER_DISPATCH_H
#define TW_USER_DISPATCH_H

#include "engine/kernel/room.h"

/* The prctl's arguments from the second on. */
i64 tw_user_dispatch_set(struct thread *t, u64 mode, u64 offset, u64 length, u64 selector);

/*
 * Before the thread's system call, which ends before t->pc, if t->kernel->user_dispatch.on. True: the call must not
 * be made, and the thread continues at its handler. Dies where the kernel would kill it.
 */
bool tw_user_dispatch_takes(struct thread *t);

#endif

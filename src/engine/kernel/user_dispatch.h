/*
 * Syscall user dispatch (prctl PR_SET_SYSCALL_USER_DISPATCH): a thread has its system calls, but for those of one range of code, sent to itself as
 * SIGSYS while a byte of its memory says so. The kernel never gets to know of it, or it would send the engine's own calls too.
 *
 * As natively, threads and processes that are made begin without it, and so does a program that is executed. PR_SYS_DISPATCH_INCLUSIVE_ON (Linux 6.17) is
 * refused with EINVAL, as by a kernel that does not know it.
 */
#ifndef TW_USER_DISPATCH_H
#define TW_USER_DISPATCH_H

#include "engine/kernel/room.h"

/* The prctl's arguments from the second on. */
i64 tw_user_dispatch_set(struct thread *t, u64 mode, u64 offset, u64 length, u64 selector);

/*
 * Before the thread's system call, which ends before t->pc, if t->kernel->user_dispatch.on. True: it is not to be made, and the thread is to go on at its handler. Dies
 * where the kernel would kill it.
 */
bool tw_user_dispatch_takes(struct thread *t);

#endif

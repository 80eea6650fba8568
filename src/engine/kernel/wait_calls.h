/*
 * Rows of the table of system calls (syscall.h): waiting for children, and ptrace. How a child ended is reported to
 * the recording; a stop caused by the engine is shown as the kernel's would be, or not at all (ptrace.h, traced.h).
 */
#ifndef TW_WAIT_CALLS_H
#define TW_WAIT_CALLS_H

#include "engine/kernel/room.h"

i64 tw_sys_wait4(struct thread *t, const u64 *a);
i64 tw_sys_waitid(struct thread *t, const u64 *a);
i64 tw_sys_ptrace(struct thread *t, const u64 *a);

#endif

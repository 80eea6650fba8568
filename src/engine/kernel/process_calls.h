/*
 * Rows of the table of system calls (syscall.h): creating threads and processes, executing programs, ending.
 */
#ifndef TW_PROCESS_CALLS_H
#define TW_PROCESS_CALLS_H

#include "engine/kernel/room.h"

i64 tw_sys_clone(struct thread *t, const u64 *a);
i64 tw_sys_clone3(struct thread *t, const u64 *a);
i64 tw_sys_fork(struct thread *t, const u64 *a);
i64 tw_sys_vfork(struct thread *t, const u64 *a);
i64 tw_sys_exit(struct thread *t, const u64 *a);
i64 tw_sys_exit_group(struct thread *t, const u64 *a);
i64 tw_sys_unshare(struct thread *t, const u64 *a);
i64 tw_sys_setns(struct thread *t, const u64 *a);
i64 tw_sys_schedule(struct thread *t, const u64 *a);
i64 tw_sys_execve(struct thread *t, const u64 *a);
i64 tw_sys_execveat(struct thread *t, const u64 *a);

#endif

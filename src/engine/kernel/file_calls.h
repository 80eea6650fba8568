/*
 * Rows of the table of system calls (syscall.h): files that describe the process. /proc/self/exe and the like name
 * the engine, and are answered with the program (process.h); what is read of signals in /proc/PID/status and stat is
 * corrected (status.h). Everything else passes.
 */
#ifndef TW_FILE_CALLS_H
#define TW_FILE_CALLS_H

#include "engine/kernel/room.h"

i64 tw_sys_readlink(struct thread *t, const u64 *a);
i64 tw_sys_readlinkat(struct thread *t, const u64 *a);
i64 tw_sys_open(struct thread *t, const u64 *a);
i64 tw_sys_creat(struct thread *t, const u64 *a);
i64 tw_sys_truncate(struct thread *t, const u64 *a);
i64 tw_sys_path(struct thread *t, const u64 *a);
i64 tw_sys_openat(struct thread *t, const u64 *a);
i64 tw_sys_openat2(struct thread *t, const u64 *a);
i64 tw_sys_faccessat(struct thread *t, const u64 *a);
i64 tw_sys_faccessat2(struct thread *t, const u64 *a);
i64 tw_sys_newfstatat(struct thread *t, const u64 *a);
i64 tw_sys_statx(struct thread *t, const u64 *a);
i64 tw_sys_fchownat(struct thread *t, const u64 *a);
i64 tw_sys_linkat(struct thread *t, const u64 *a);
i64 tw_sys_read(struct thread *t, const u64 *a);
i64 tw_sys_readv(struct thread *t, const u64 *a);
i64 tw_sys_pread64(struct thread *t, const u64 *a);

/*
 * Calls that change an open file: it may hold code that is mapped, or be the memory of the process itself,
 * /proc/self/mem, through which JITs write code that is otherwise not writable. The file is the first argument, or
 * the third. Not detected: memory written through a descriptor that another process opened, or before an execve, and
 * the memory of another process.
 */
i64 tw_sys_change_first(struct thread *t, const u64 *a);
i64 tw_sys_change_third(struct thread *t, const u64 *a);

#endif

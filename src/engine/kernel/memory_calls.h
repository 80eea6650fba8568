/*
 * Rows of the table of system calls (syscall.h): memory.
 *
 * What must hold: when such a call returns, the list of executable ranges, views and modules is what the application
 * has mapped (code/memory.h, code/shared.h, code/module.h), nothing of the engine's has been touched, and mappings
 * and unmappings have been reported to the recording.
 */
#ifndef TW_MEMORY_CALLS_H
#define TW_MEMORY_CALLS_H

#include "engine/kernel/room.h"

i64 tw_sys_mmap(struct thread *t, const u64 *a);
i64 tw_sys_munmap(struct thread *t, const u64 *a);
i64 tw_sys_mprotect(struct thread *t, const u64 *a);
i64 tw_sys_mremap(struct thread *t, const u64 *a);
i64 tw_sys_shmat(struct thread *t, const u64 *a);
i64 tw_sys_shmdt(struct thread *t, const u64 *a);
i64 tw_sys_brk(struct thread *t, const u64 *a);
i64 tw_sys_mlockall(struct thread *t, const u64 *a);
i64 tw_sys_munlockall(struct thread *t, const u64 *a);
i64 tw_sys_mseal(struct thread *t, const u64 *a);
i64 tw_sys_madvise(struct thread *t, const u64 *a);
i64 tw_sys_process_madvise(struct thread *t, const u64 *a);
i64 tw_sys_personality(struct thread *t, const u64 *a);

#endif

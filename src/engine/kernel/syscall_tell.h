/*
 * What the recording is told of system calls: a SYSCALL event of each, with the names of files among its arguments.
 */
#ifndef TW_SYSCALL_TELL_H
#define TW_SYSCALL_TELL_H

#include "engine/kernel/room.h"

/* Of a call that has returned; `began`: when it was made, by the time stamp counter; `pc`: of its instruction. Nothing, where nothing is recorded. */
void tw_syscall_tell(struct thread *t, u64 nr, const u64 *a, i64 result, u64 began, u64 pc);

#endif

/*
 * System calls in the recording: a SYSCALL event for each, with the file names among its arguments.
 */
#ifndef TW_SYSCALL_TELL_H
#define TW_SYSCALL_TELL_H

#include "engine/kernel/room.h"

/*
 * For a call that has returned; `began`: when it was made (time stamp counter); `pc`: of its instruction. Does
 * nothing if nothing is recorded.
 */
void tw_syscall_tell(struct thread *t, u64 nr, const u64 *a, i64 result, u64 began, u64 pc);

#endif

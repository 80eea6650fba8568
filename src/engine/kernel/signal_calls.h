/*
 * Rows of the table of system calls (syscall.h): actions, masks and waits. The signal room keeps the application's
 * mask; a wait under another mask is made with that mask in the kernel.
 */
#ifndef TW_SIGNAL_CALLS_H
#define TW_SIGNAL_CALLS_H

#include "engine/kernel/room.h"

i64 tw_sys_sigaction(struct thread *t, const u64 *a);
i64 tw_sys_sigprocmask(struct thread *t, const u64 *a);
i64 tw_sys_sigaltstack(struct thread *t, const u64 *a);
i64 tw_sys_sigpending(struct thread *t, const u64 *a);
i64 tw_sys_sigtimedwait(struct thread *t, const u64 *a);
i64 tw_sys_sigsuspend(struct thread *t, const u64 *a);
i64 tw_sys_ppoll(struct thread *t, const u64 *a);
i64 tw_sys_epoll_pwait(struct thread *t, const u64 *a);
i64 tw_sys_pselect(struct thread *t, const u64 *a);
i64 tw_sys_tgsigqueueinfo(struct thread *t, const u64 *a);

#endif

/*
 * execve: the new program is run under the engine too, by executing the engine again with the program's argv and two variables before its environment
 * (channel.h). What cannot be followed (programs that are another user's and set-uid, 32-bit ones, no collector, or none that the
 * process could open: after chroot, as another user, in other namespaces; a process that is denied memory written and executed) is executed natively. So is, by the engine
 * that begins in its place, one in which that gets no memory (main.c).
 */
#ifndef TW_EXEC_H
#define TW_EXEC_H

#include "engine/kernel/room.h"

/* execveat for the application. Returns only on failure, with the kernel's error. */
i64 tw_exec(struct thread *t, int dirfd, u64 path, u64 argv, u64 envp, int flags);

#endif

/*
 * execve: the new program runs under the engine, too. The engine is executed again with the program's argv and two
 * variables before its environment (channel.h). What cannot be followed is executed natively: set-uid programs of
 * another user, 32-bit programs, no collector, or none that the process could open (after chroot, as another user, in
 * other namespaces), a process that may not have memory that is writable and executable. If the new engine gets no
 * memory, it executes the program natively (main.c).
 */
#ifndef TW_EXEC_H
#define TW_EXEC_H

#include "engine/kernel/room.h"

/* execveat for the application. Returns only on failure, with the kernel's error. */
i64 tw_exec(struct thread *t, int dirfd, u64 path, u64 argv, u64 envp, int flags);

#endif

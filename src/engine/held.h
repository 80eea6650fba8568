/*
 * Held signals. The kernel never blocks the synchronous signals (signal.h), so one that was merely sent (kill, sigqueue, a timer) arrives even
 * while the application blocks it. It is held here, one of each number for each thread and one for the process, as the kernel would
 * keep it pending, until the application unblocks it, waits for it, or executes another program.
 *
 * Called by the thread itself, tw_held_keep and tw_held_take from its signal handler too.
 */
#ifndef TW_HELD_H
#define TW_HELD_H

#include "engine/engine.h"

/* Holds a synchronous signal that was sent to the thread, or to the process (SI_USER); another one of its number is dropped, as the kernel does. */
void tw_held_keep(struct thread *t, int signo, const siginfo_t *info);

/* Takes one of this number out again; false: there is none. */
bool tw_held_take(struct thread *t, int signo, siginfo_t *info);

/* Makes a held signal that `mask` lets through the thread's pending one, with all others blocked in the kernel. False: there is none. */
bool tw_held_release(struct thread *t, u64 mask);

/* In a new process: nothing is pending there. */
void tw_held_forget(struct thread *t);

/* Before execve, with the kernel's mask the application's own: hands all of them to the kernel, which keeps them pending for the new program. */
void tw_held_requeue(struct thread *t);

/* System calls (syscall.c): results as the kernel's. TW_HELD_PASS: it is for the kernel to answer. */
#define TW_HELD_PASS (-513)
i64 tw_held_sigpending(struct thread *t, u64 set, u64 size);
i64 tw_held_sigtimedwait(struct thread *t, u64 set, u64 info, u64 size);

#endif

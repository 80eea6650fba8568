/*
 * System calls. Most pass through untouched. Those that concern the engine (memory, signals, threads, exec, exit,
 * segment bases, names of the program) have a row in a table: a function that makes the call, given its arguments,
 * and returns its result, or TW_SYSCALL_ABORTED if it must be repeated after a signal. Unknown calls pass through
 * (pass.h). The rows are in memory_calls, signal_calls, process_calls, wait_calls and file_calls.
 */
#ifndef TW_SYSCALL_H
#define TW_SYSCALL_H

#include "engine/kernel/room.h"

#define TW_SYSCALL_BYTES 2 /* of the instruction, syscall or int 0x80 */

/* Makes the application's system call: number and arguments in t->regs, t->pc after the instruction. Stores the result. */
void tw_syscall(struct thread *t);

/* Makes the call in t->regs as 64-bit call `nr` with arguments a; with `is_32bit` the kernel gets it as one of int 0x80. */
i64 tw_syscall_do(struct thread *t, u64 nr, bool is_32bit, const u64 *a);

#endif

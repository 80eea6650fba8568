/*
 * System calls. Most pass through untouched; those that concern the engine (memory, signals, threads, exec, exit, segment bases, what names the
 * program) have a row in a table. Unknown ones pass through.
 */
#ifndef TW_SYSCALL_H
#define TW_SYSCALL_H

#include "engine/engine.h"

/* Makes the application's system call: number and arguments in t->regs, t->pc behind the instruction. Stores the result. */
void tw_syscall(struct thread *t);

#endif

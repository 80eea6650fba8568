/*
 * System calls that 64-bit code makes with `int 0x80`: numbers and arguments are those of 32-bit Linux. Those that
 * concern the engine are made as the corresponding 64-bit calls; those that would give the kernel handlers and stacks
 * of 32-bit code are refused; the rest passes through.
 */
#ifndef TW_INT80_H
#define TW_INT80_H

#include "engine/kernel/room.h"

/* Makes the application's call: number and arguments in t->regs, t->pc after the instruction. Stores the result. */
void tw_int80(struct thread *t);

#endif

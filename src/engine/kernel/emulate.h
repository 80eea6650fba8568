/*
 * The few instructions that the engine performs itself, because %gs is its own, because the change must be reported
 * to the reader, or because they would leave the cache for another code segment.
 */
#ifndef TW_EMULATE_H
#define TW_EMULATE_H

#include "engine/kernel/room.h"

/*
 * Performs the instruction at t->pc (rdgsbase, wrgsbase, wrfsbase, loads of a selector into %fs or %gs, 64-bit iret
 * and far ret) and moves t->pc to the next.
 */
void tw_emulate(struct thread *t);

/*
 * Is t->pc in the vsyscall page, which old programs call, and which nobody can read? Then the call is made, if it is
 * one of the three entries, and t->pc becomes its return address. As in the kernel, no instruction runs there, and
 * SIGSEGV is forced on a thread that jumps elsewhere in the page or passes unusable arguments. (The page is emulated
 * even if the kernel is configured without it.)
 */
bool tw_emulate_vsyscall(struct thread *t);

#endif

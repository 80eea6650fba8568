/* The few instructions the engine performs itself, because %gs is its own, because the change must be told to the reader, or
 * because they would leave the cache for another code segment. */
#ifndef TW_EMULATE_H
#define TW_EMULATE_H

#include "engine/kernel/room.h"

/* Performs the instruction at t->pc (rdgsbase, wrgsbase, wrfsbase, what loads a selector into %fs or %gs, 64-bit iret and far ret) and moves t->pc to the next. */
void tw_emulate(struct thread *t);

/*
 * Is t->pc in the vsyscall page, which old programs call, and which nobody can read? Then the call is made, if it is one of the three entries, and t->pc is where it
 * returns to. As the kernel does it: no instruction runs there, and SIGSEGV is forced on who comes to another place or hands in what cannot be used. (A kernel may
 * be set to have no such page; then it is there all the same.)
 */
bool tw_emulate_vsyscall(struct thread *t);

#endif

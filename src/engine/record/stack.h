/* The stack where recording begins in the middle of the program (STACK events): who reads them finds the calls that are open. */
#ifndef TW_ENGINE_STACK_H
#define TW_ENGINE_STACK_H

#include "engine/record/room.h"

/* If that is wanted: tells what stands on the thread's stack, from its stack pointer on, as far as there is some, and no more than 32 KB. S (buffer.h) */
void tw_stack_tell(struct thread *t);

#endif

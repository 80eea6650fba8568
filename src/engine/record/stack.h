/* A copy of the stack where recording starts in the middle of the program (STACK events); readers use it to find the open calls. */
#ifndef TW_ENGINE_STACK_H
#define TW_ENGINE_STACK_H

#include "engine/record/room.h"

/* If wanted: writes the thread's stack, from its stack pointer on, as far as it goes, but at most 32 KB. S (buffer.h) */
void tw_stack_tell(struct thread *t);

#endif

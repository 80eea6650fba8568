/*
 * Faults and traps that a thread itself causes, distinguished in this order: a guard page (buffers are switched); an
 * alignment check hit by the engine's own stores; the trap after one of the engine's single steps, or the breakpoint
 * at a stale fragment's entry; a single step that the application asked for; a store to a page from which code was
 * translated; engine code that expects the fault; the application's own fault, which is delivered. Anything else is
 * the engine's failure, and the process dies of it.
 */
#ifndef TW_SYNCHRONOUS_H
#define TW_SYNCHRONOUS_H

#include "engine/signal/room.h"

struct tw_ucontext;

void tw_synchronous(struct thread *t, int signo, siginfo_t *info, struct tw_ucontext *uc);

#endif

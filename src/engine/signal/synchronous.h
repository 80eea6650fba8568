/*
 * Faults and traps of what a thread does itself, told apart in this order: a guard page (buffers are switched); an alignment check met by the engine's own stores; the trap behind a step of the
 * engine's, or the breakpoint at a stale fragment's entry; a step that the application has asked for; a store to a page that code has been translated from; code of the engine's that is prepared
 * for it; the application's own fault, which is delivered. Anything else is the engine's failure, and the process dies of it.
 */
#ifndef TW_SYNCHRONOUS_H
#define TW_SYNCHRONOUS_H

#include "engine/signal/room.h"

struct tw_ucontext;

void tw_synchronous(struct thread *t, int signo, siginfo_t *info, struct tw_ucontext *uc);

#endif

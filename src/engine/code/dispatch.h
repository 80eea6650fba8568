/* The dispatcher: it is entered from the cache, and returns there. */
#ifndef TW_DISPATCH_H
#define TW_DISPATCH_H

#include "engine/code/room.h"

/* The cache was left by t->exit: does what is needed. Returns the host address to continue at. */
u64 tw_dispatch(struct thread *t);

/* Enters the cache at t->pc with t->regs: finds or makes the fragment. Takes the deferred signal first. */
u64 tw_resume(struct thread *t);

#endif

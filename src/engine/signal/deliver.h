/*
 * Delivery: the application's handler runs next, or the signal's default action takes place.
 */
#ifndef TW_DELIVER_H
#define TW_DELIVER_H

#include "engine/signal/room.h"

/*
 * Makes the application's handler the next thing that runs. t->pc, t->regs, t->flags are the interrupted state; `xstate` is the kernel's image of
 * the vector registers then, or NULL: they are live. The kernel's mask is the caller's to set to t->signal->mask, once this is done: a signal
 * let in before would be delivered on top of this one. `forced`: it is a fault of the thread's own, which it dies of where it is blocked or ignored.
 */
void tw_deliver(struct thread *t, int signo, const siginfo_t *info, const void *xstate, bool forced);

/* Is it forced, though it is no fault: of a system call that a filter answered? */
bool tw_deliver_is_forced(int signo, const siginfo_t *info);

#endif

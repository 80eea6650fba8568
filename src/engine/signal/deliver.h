/*
 * Delivery: the application's handler runs next, or the signal's default action takes place.
 */
#ifndef TW_DELIVER_H
#define TW_DELIVER_H

#include "engine/signal/room.h"

/*
 * Makes the application's handler run next. t->pc, t->regs, t->flags are the interrupted state; `xstate` is the
 * kernel's image of the vector registers then, or NULL: they are live. Afterwards the caller must set the kernel's
 * mask to t->signal->mask: a signal unblocked before would be delivered on top of this one. `forced`: a fault of the
 * thread itself, which kills it if blocked or ignored.
 */
void tw_deliver(struct thread *t, int signo, const siginfo_t *info, const void *xstate, bool forced);

/* Is it forced although it is not a fault: the result of a filtered system call? */
bool tw_deliver_is_forced(int signo, const siginfo_t *info);

#endif

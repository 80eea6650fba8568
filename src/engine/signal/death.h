/*
 * Death by signal: the process ends as if the engine were not there. The signal is raised once more, with default
 * action, in the program's own context: the core dump has its registers, its siginfo, and of the engine's memory
 * nothing but the image.
 *
 * The first process of a namespace does not die of what it sends itself, only of what the kernel forces on it. There
 * a fault is repeated, and other signals are provoked in another way (an invalid frame, a call that is not allowed).
 */
#ifndef TW_DEATH_H
#define TW_DEATH_H

#include "engine/signal/room.h"

/*
 * t->pc, t->regs, t->flags are those with which the program died. `info`: as it was sent, or NULL. `xstate`: the
 * kernel's image of the vector registers, or NULL: they are live.
 */
void tw_death(struct thread *t, int signo, const siginfo_t *info, const void *xstate) __attribute__((noreturn));

/* The first process of a namespace: no signal kills it by default unless the kernel forces it. */
bool tw_death_spares(const struct thread *t);

/* Makes the kernel perform the signal's default action; other signals are blocked. */
void tw_death_by_default(const struct thread *t, int signo, const siginfo_t *info);

#endif

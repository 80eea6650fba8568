/* Faults in the recording: which access faulted, and what the process dies of. */
#ifndef TW_FAULT_H
#define TW_FAULT_H

#include "engine/signal/room.h"

/*
 * The process is about to die of a signal: told in a FAULT event, whatever is recorded of the thread. t->pc and
 * t->regs are those with which it died; `info`: as the signal was sent, or NULL. S (record/buffer.h)
 */
void tw_fault_fatal(struct thread *t, int signo, const siginfo_t *info);

/* A fault with a handler: told before the SIGNAL event. Breakpoints and single steps are not told: they leave nothing undone. S */
void tw_fault_handled(struct thread *t, int signo, const siginfo_t *info);

#endif

/*
 * Masks: the application's (thread.signal.mask), and the kernel's.
 */
#ifndef TW_MASK_H
#define TW_MASK_H

#include "engine/signal/room.h"

/* Sets the kernel's, except for the synchronous signals, which it never blocks. */
void tw_mask_kernel(u64 mask);

/* Does the mask in force block this signal? */
bool tw_mask_blocks(const struct thread *t, int signo);

/* The kernel's mask while the thread runs the application. */
u64 tw_mask_running(const struct thread *t);

#endif

/*
 * Coroutines: code that runs on a stack of its own until it gives control back. One thread runs all that switch to each other. Unlike swapcontext(3), switching asks nothing of the kernel: signal
 * masks stay as they are.
 */
#ifndef TW_REPLAY_COROUTINE_H
#define TW_REPLAY_COROUTINE_H

#include <stddef.h>

/* Where somebody stands who has switched away: where the stack is. */
struct tw_coroutine {
	void *stands;
};

/* It will begin with run(arg) on the stack of so many bytes, aligned to 16, and must never return. */
void tw_coroutine_init(struct tw_coroutine *c, void *stack, size_t bytes, void (*run)(void *arg), void *arg);

/* Goes on with `to`, and returns when somebody switches back to `from`. */
void tw_coroutine_switch(struct tw_coroutine *from, const struct tw_coroutine *to);

#endif

/*
 * Coroutines: code that runs on a stack of its own until it yields. All that switch to each other run in one thread.
 * Unlike swapcontext(3), switching makes no system call: signal masks stay as they are.
 */
#ifndef TW_REPLAY_COROUTINE_H
#define TW_REPLAY_COROUTINE_H

#include <stddef.h>

/* The state of a coroutine that has switched away: its stack pointer. */
struct tw_coroutine {
	void *stands;
};

/* Prepares it to start with run(arg) on this stack, aligned to 16; run must never return. */
void tw_coroutine_init(struct tw_coroutine *c, void *stack, size_t bytes, void (*run)(void *arg), void *arg);

/* Continues `to`, and returns when somebody switches back to `from`. */
void tw_coroutine_switch(struct tw_coroutine *from, const struct tw_coroutine *to);

#endif

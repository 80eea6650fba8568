/*
 * The calling context of one thread during replay: its open calls, as a path in the set of what was seen. A call adds
 * one; a return closes those up to the one that returns there.
 *
 * The context is unknown if recording resumes in the middle and the stack cannot be read, and after a return that
 * matches no open call (a stack switch): nothing is told then.
 */
#ifndef TW_LEARN_CONTEXT_H
#define TW_LEARN_CONTEXT_H

#include "learn/seen.h"

/* An open call; or (`back` 0) a signal handler, or the beginning. */
struct tw_context_frame {
	uint64_t back;
	uint32_t context; /* its number in the set; 0: the root; TW_NO_NUMBER: unknown */
};

/* All zeros: of a thread that begins. */
struct tw_context_stack {
	struct tw_context_frame *frames;
	size_t n, room;
	uint32_t base; /* the context below all frames, as in a frame */
};

void tw_context_stack_free(struct tw_context_stack *c);

/* A thread begins with no open calls; `unknown`: they are not known. */
void tw_context_begin(struct tw_context_stack *c, int unknown);

/* A call whose return address is `back` led to `entry`. 0 or TW_ERR_MEMORY. */
int tw_context_call(struct tw_context_stack *c, struct tw_seen_set *s, uint32_t image, uint64_t back, uint64_t entry);

/* Sets the open calls, from the innermost on. */
int tw_context_set(struct tw_context_stack *c, struct tw_seen_set *s, uint32_t image, const uint64_t *back, size_t n);

/* A return led to `to`. */
void tw_context_return(struct tw_context_stack *c, uint64_t to);

/* A signal handler begins; a signal handler has returned. */
int tw_context_signal(struct tw_context_stack *c);
void tw_context_sigreturn(struct tw_context_stack *c);

#endif

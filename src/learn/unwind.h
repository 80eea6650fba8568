/*
 * The open calls where recording resumes in the middle of a program: found from its registers, a copy of its stack,
 * and the call frame information (.eh_frame) of the code's files, as debuggers and exception unwinders do.
 */
#ifndef TW_LEARN_UNWIND_H
#define TW_LEARN_UNWIND_H

#include "names/places.h"

#include <trackway/event.h>

/* For one thread at a time. */
struct tw_unwinder;

/* The places must outlive it. NULL: there is no memory. */
struct tw_unwinder *tw_unwinder_new(const struct tw_places *places);
void tw_unwinder_free(struct tw_unwinder *u);

/* A STACK event of a thread. 0 or TW_ERR_MEMORY. */
int tw_unwinder_take(struct tw_unwinder *u, const struct tw_stack *e, size_t bytes);

/* What was taken is of no use. */
void tw_unwinder_forget(struct tw_unwinder *u);

/* Has a stack been taken and not been asked for? */
int tw_unwinder_has(const struct tw_unwinder *u);

enum { TW_UNWIND_MOST = 1024 };

/*
 * The return addresses of the stack taken, from the innermost on, up to where the thread or the signal handler began.
 * `image` as in names/places.h. -1: not found: code without frame information, or the copy is too short.
 */
int tw_unwinder_find(struct tw_unwinder *u, uint32_t image, uint64_t back[TW_UNWIND_MOST]);

#endif

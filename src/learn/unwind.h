/*
 * The calls that are open where recording goes on in the middle of a program: by its registers, a copy of its stack, and the call frame information (.eh_frame) of the files that its code
 * is of, as debuggers and unwinders of exceptions find them.
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

/* Is there a stack that has been taken and not asked for? */
int tw_unwinder_has(const struct tw_unwinder *u);

enum { TW_UNWIND_MOST = 1024 };

/*
 * The return addresses of what was taken, from the innermost on, up to where the thread, or the handler of a signal, began. `image` as in names/places.h. -1: they cannot be found: there is no
 * information on some code, or the copy does not go so far.
 */
int tw_unwinder_find(struct tw_unwinder *u, uint32_t image, uint64_t back[TW_UNWIND_MOST]);

#endif

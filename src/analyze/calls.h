/*
 * Calls: who called whom from where, how often and at what cost; and what each instruction cost by itself.
 *
 * A shadow call stack for each thread tells what belongs to which function. A call is a call instruction, and also a jump from one function into
 * another (a tail call), which returns together with its caller. Frames are matched by the place on the stack where their return address
 * stands, so that functions that never return (longjmp, exceptions, exit) are taken off when the program goes on further up. Jumps through a
 * PLT stub, and through the resolver of lazy binding, are calls from the place that called the stub; what the stub costs is charged there.
 * A signal handler has a stack of its own: its cost is not part of what it interrupted. A forked process goes on with its parent's stack.
 *
 * Recursion is told apart as callgrind does it: a function has a context of its own (level 1, written name'2) while it is active already.
 * The cost of a call is that of its whole duration, counted unless its callee is active already in the same context. So the costs of all calls of a
 * context sum up to its inclusive cost, exactly, and that of a root to all there is.
 */
#ifndef TW_CALLS_H
#define TW_CALLS_H

#include "analyze/call.h"

/* Replays `r` and fills *out, which the caller gives to tw_calls_free (on failure it is empty). */
int tw_calls_run(const struct tw_recording *r, const struct tw_calls_options *options, struct tw_calls *out);
void tw_calls_free(struct tw_calls *calls);

#endif

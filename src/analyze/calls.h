/*
 * Calls: who called whom from where, how often and at what cost; and the self cost of each instruction.
 *
 * A shadow call stack for each thread determines the current function. A call is a call instruction, or a jump from
 * one function into another (a tail call), which returns together with its caller. Frames are matched by the stack
 * address of their return address, so functions that never return (longjmp, exceptions, exit) are popped when
 * execution continues further up. Jumps through a PLT stub, and through the resolver of lazy binding, are calls from
 * the place that called the stub; the stub's cost is charged there. A signal handler has a stack of its own: its cost
 * is not part of what it interrupted. A forked process continues with its parent's stack.
 *
 * Recursion is shown as in callgrind: while a function is active, a further activation has a context of its own
 * (level 1, written name'2). The cost of a call is that of its whole duration, counted unless its callee is already
 * active in the same context. So the costs of all calls of a context add up exactly to its inclusive cost, and that
 * of a root to the total.
 */
#ifndef TW_CALLS_H
#define TW_CALLS_H

#include "analyze/call.h"

/* Replays `r` and fills *out, which the caller gives to tw_calls_free (on failure it is empty). */
int tw_calls_run(const struct tw_recording *r, const struct tw_calls_options *options, struct tw_calls *out);
void tw_calls_free(struct tw_calls *calls);

#endif

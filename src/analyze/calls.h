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

#include <trackway/replay.h>

/* What an instruction cost by itself in one context. Sorted by function, level, image, address. */
struct tw_call_insn {
	struct tw_context in;
	uint32_t image;
	uint8_t end; /* enum tw_end, if it ends a block; else TW_END_FALL */
	uint64_t pc;
	struct tw_cost cost;
	uint64_t ran;    /* how often it was executed */
	uint64_t target; /* JUMP, COND: where to */
	uint64_t taken;  /* JUMP, COND: how often it went there */
};

struct tw_calls_options {
	struct tw_replay_options replay; /* `jobs` and `grain` are ignored: calls are followed in order */
	/* The function of the code at pc of an image (see profile.h); `called`: a call has led there. *place is all zeros. 0, or an error that ends the
	 * replay. */
	int (*place)(void *context, uint32_t image, uint64_t pc, int called, struct tw_call_place *place);
	void *context; /* for place() */
	/* In place of tw_replay, to have the analyzer see a part of the execution only; NULL: tw_replay. */
	int (*run)(void *run_context, const struct tw_recording *r, const struct tw_replay_options *replay,
	           const struct tw_analyzer *analyzer, void *arg);
	void *run_context;
};

struct tw_calls {
	struct tw_cost totals;
	struct tw_call_insn *insns;
	struct tw_call *calls;
	size_t n_insns, n_calls;
};

/* Replays `r` and fills *out, which the caller gives to tw_calls_free (on failure it is empty). */
int tw_calls_run(const struct tw_recording *r, const struct tw_calls_options *options, struct tw_calls *out);
void tw_calls_free(struct tw_calls *calls);

#endif

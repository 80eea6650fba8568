/*
 * The context that a signal interrupted, while the engine's handler runs: which part of it is the application's,
 * where the thread continues, and the engine's own single steps in the cache.
 *
 * What must hold: if a thread does not simply continue where it was, its state is taken over (tw_context_load) before
 * anything is derived from it; and until a step is over, no signal comes that can be postponed.
 */
#ifndef TW_CONTEXT_H
#define TW_CONTEXT_H

#include "engine/signal/room.h"

struct tw_ucontext;

/* Is this an address in the cache? */
bool tw_context_in_cache(u64 host);

/* Takes the interrupted state as the application's: the thread will not simply continue where it was. */
void tw_context_load(struct thread *t, struct tw_ucontext *uc);

/* The thread continues in tw_resume_cache when the handler returns, with everything else as the kernel saved it. */
void tw_context_resume_after(struct thread *t, struct tw_ucontext *uc);

/* The thread leaves the cache where it is, and continues by way of the dispatcher. */
void tw_context_come_by(struct thread *t, struct tw_ucontext *uc);

/*
 * Executes the next instruction in the cache as a single step. Until then, no postponable signal arrives: a signal
 * that always came first would prevent the step for ever.
 */
void tw_step_start(struct tw_ucontext *uc);

/* Any step is over, executed or not: flags are the application's again. */
void tw_step_stop(struct thread *t, struct tw_ucontext *uc);

/* Is the state at this address in the cache not the application's? */
bool tw_context_is_unsettled(u64 host);

/* If it is not, continues in steps until it is. False: it is. */
bool tw_context_settle(struct thread *t, struct tw_ucontext *uc);

#endif

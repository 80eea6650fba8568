/*
 * Timers that call a thread out of the cache: each sends its thread an engine-internal signal (signal/handler.c,
 * `tick`).
 *
 * A timer belongs to its thread and is not inherited: a forked child makes one of its own. A CPU-time timer does not
 * run while the thread sleeps in a system call; a real-time timer must be stopped before the thread makes one.
 */
#ifndef TW_TIMER_H
#define TW_TIMER_H

#include "engine/engine.h"
#include <asm/siginfo.h>
#include <asm/signal.h>

struct tw_timer {
	u32 id, tid; /* whose it is; 0: there is none */
	bool runs;
};

/* From now on after `first` ns, and then every `again` ns, for the calling thread; 0, 0: never. What cannot be had does not come. */
void tw_timer_set(struct tw_timer *timer, u32 tid, i32 clock, u64 first, u64 again);

/* Every so many ns, unless it runs already; 0: there is to be none. */
void tw_timer_every(struct tw_timer *timer, u32 tid, i32 clock, u64 ns);

/* The thread ends. */
void tw_timer_end(struct tw_timer *timer, u32 tid);

/* Is this the signal of one? */
bool tw_timer_is_tick(int signo, const siginfo_t *info);

#endif

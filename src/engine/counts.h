/* Counters of the engine's own work (<trackway/counts.h>), where the collector finds them even if the process is killed. */
#ifndef TW_ENGINE_COUNTS_H
#define TW_ENGINE_COUNTS_H

#include "engine/engine.h"

/* Threads of different numbers mostly count in different cache lines. */
static inline u64 *tw_counts_of(u32 who)
{
	return (u64 *)tw_engine.control->counts[who % TW_COUNT_ROWS].of;
}

static inline void tw_count_by(u32 who, enum tw_count what, u64 n)
{
	__atomic_fetch_add(&tw_counts_of(who)[what], n, __ATOMIC_RELAXED);
}

static inline void tw_count(enum tw_count what, u64 n)
{
	tw_count_by(tw_engine.pid, what, n);
}

/* From one tw_tsc to another; either is 0 where the counter cannot be read. */
static inline void tw_count_cycles(enum tw_count what, u64 began, u64 now)
{
	if (began && now > began)
		tw_count(what, now - began);
}

/* It has so much of this now. */
static inline void tw_count_most(enum tw_count what, u64 n)
{
	u64 *most = &tw_counts_of(tw_engine.pid)[what], there = __atomic_load_n(most, __ATOMIC_RELAXED);
	while (there < n && !__atomic_compare_exchange_n(most, &there, n, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

#endif

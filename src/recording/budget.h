/*
 * A recording's data about its budget (record --budget): the request, what was charged, and the part of each period.
 * It is in a block of its own in the code file (docs/format.md), which is written when the program has ended.
 */
#ifndef TW_RECORDING_BUDGET_H
#define TW_RECORDING_BUDGET_H

#include <stddef.h>
#include <stdint.h>

enum { TW_OVER_BUCKETS = 24 };

struct tw_budget_asked {
	uint64_t period;     /* ns; 0: there was no budget */
	uint64_t budget;     /* ns in each period; or millionths of the time that the program takes without instrumentation */
	uint32_t is_share;   /* 1: that */
	uint32_t per_thread; /* 1: each thread had one of its own */
};

/*
 * For one period, in ns: charged; in recording code; in all code. The last two are CPU time of all threads, including
 * their waits for the collector.
 */
struct tw_budget_figures {
	uint64_t period; /* its number, from 0 */
	uint64_t used, enabled, cpu;
};

/* As in the file, where figures of periods follow, in time order, only of those in which the program ran. */
struct tw_budget {
	struct tw_budget_asked asked;
	uint64_t opened;                /* how often a thread began to record */
	uint64_t accounts;              /* periods in which anything could be charged; with a budget per thread, over all threads */
	uint64_t largest, largest_in;   /* overshoot, in ns, and in which period */
	uint64_t over[TW_OVER_BUCKETS]; /* overshoots: below 1 us, and each further bucket twice as long */
	struct tw_budget_figures of[];
};

/*
 * Why recording ended within a budget, and by what; in a block of its own, which older recordings lack, and those in
 * which nothing was recorded.
 */
struct tw_budget_end {
	uint32_t switches;      /* how threads switched from recording code to other code: the number in tw_budget_switch_name */
	uint32_t waited_us;     /* how long threads waited for the collector, which is charged; at most UINT32_MAX */
	uint64_t spent, behind; /* how often a thread stopped because nothing was left, and because the collector had to catch up */
	uint64_t
	    displaced; /* ns that the recorder took of processors while the program waited for them, charged; not in older recordings */
};
enum { TW_BUDGET_SWITCHES = 5 };
const char *tw_budget_switch_name(uint32_t number); /* NULL: there is none */

/* NULL: it is not said. */
struct tw_recording;
const struct tw_budget_end *tw_recording_budget_end(const struct tw_recording *r);

/* The budget of a recording; NULL: it had none, or was not completed. *n: periods. */
const struct tw_budget *tw_recording_budget(const struct tw_recording *r, size_t *n);

/* The sums over n periods; `period` is 0. */
struct tw_budget_figures tw_budget_sum(const struct tw_budget *b, size_t n);

/* Cost of instrumentation relative to the time without it, both from the figures. */
double tw_budget_share(const struct tw_budget_figures *f);

/* Number of overshoots, and of those that may exceed this many ns. */
uint64_t tw_budget_overshoots(const struct tw_budget *b, uint64_t above);

/* The budget as on the command line: `10%`, `100ms`. */
enum { TW_BUDGET_TEXT = 48 };
const char *tw_budget_text(const struct tw_budget_asked *asked, char to[TW_BUDGET_TEXT]);
const char *tw_budget_time(uint64_t ns, char to[TW_BUDGET_TEXT]);

#endif

/*
 * The budget (record --budget) outside the traced program: the request, as text, and the result, period by period, as
 * processes report it in the channel while they run (base/channel.h).
 */
#ifndef TW_CHANNEL_BUDGET_H
#define TW_CHANNEL_BUDGET_H

#include "base/channel.h"
#include "recording/budget.h"

/* `10%` or a time, and a time: 50ms, 1s, 200us. 0: not valid, or impossible to keep. */
int tw_budget_parse(const char *text, struct tw_budget_asked *asked);
int tw_budget_parse_period(const char *text, struct tw_budget_asked *asked);

/* Sets the channel up. Periods are counted from now. */
void tw_budget_start(struct tw_budget_control *c, const struct tw_budget_asked *asked);

/* What has been taken of it so far. */
struct tw_budget_taken {
	struct tw_budget_figures *of; /* of periods, in order */
	size_t n, room;
	uint64_t next; /* the period that is taken next */
};

/*
 * Takes the figures of finished periods, or of `all`. Must be called often enough: there is room for
 * TW_BUDGET_PERIODS of them. 0 or TW_ERR_MEMORY.
 */
int tw_budget_take(struct tw_budget_control *c, struct tw_budget_taken *taken, int all);

/* Why recording ended, as it is written. */
struct tw_budget_end tw_budget_end(const struct tw_budget_control *c);

/* What is written to the recording, from malloc; *n: its bytes. NULL: no memory. */
struct tw_budget *tw_budget_result(const struct tw_budget_control *c, const struct tw_budget_taken *taken, size_t *n);

#endif

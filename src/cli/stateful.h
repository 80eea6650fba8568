/*
 * Analyzing a recording bit by bit, with what is known kept in a file (plugin/state_file.h), so that a later run goes on there.
 */
#ifndef TW_CLI_STATEFUL_H
#define TW_CLI_STATEFUL_H

#include "cli/request.h"
#include "cli/session.h"
#include "plugin/state_file.h"

/* Runs the analyzer up to its answer. Returns 0 or an exit status, after having said what is wrong. */
int tw_stateful_run(struct tw_session *s, const struct tw_run *how);

/* How much is to be replayed before the clock is looked at, by tw_parts_cost_before(): at first, and when so much has taken so many seconds. */
uint64_t tw_stateful_first(const struct tw_run *how);
uint64_t tw_stateful_next(const struct tw_run *how, uint64_t budget, double seconds);

/*
 * What a state file has of this recording: takes those of its parts that are, in order, out of *all and into *own. Returns how many parts of it have been left in *all.
 */
size_t tw_stateful_choose(const struct tw_parts *parts, struct tw_packed_parts *all, struct tw_packed_parts *own);

#endif

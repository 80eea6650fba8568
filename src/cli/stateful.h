/*
 * Analyzes a recording in steps, and keeps the results so far in a file (plugin/state_file.h), so that a later run
 * continues there.
 */
#ifndef TW_CLI_STATEFUL_H
#define TW_CLI_STATEFUL_H

#include "cli/request.h"
#include "cli/session.h"
#include "plugin/state_file.h"

/* Runs the analyzer up to its answer. Returns 0, or an exit status after reporting an error. */
int tw_stateful_run(struct tw_session *s, const struct tw_run *how);

/*
 * How much to replay before the next look at the clock, in units of tw_parts_cost_before(): at first, and after a
 * piece of this cost took so many seconds.
 */
uint64_t tw_stateful_first(const struct tw_run *how);
uint64_t tw_stateful_next(const struct tw_run *how, uint64_t budget, double seconds);

/*
 * Takes, in order, those parts of a state file that belong to this recording out of *all and into *own. Returns how
 * many of its parts are left in *all.
 */
size_t tw_stateful_choose(const struct tw_parts *parts, struct tw_packed_parts *all, struct tw_packed_parts *own);

#endif

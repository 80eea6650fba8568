/* The outcome of a budget (record --budget), for people and for programs. */
#ifndef TW_CLI_BUDGET_H
#define TW_CLI_BUDGET_H

#include "recording/budget.h"
#include "recording/recording.h"
#include "report/json.h"

#include <stdio.h>

/* In one line, behind `before`. */
void tw_budget_print_line(FILE *f, const char *before, const struct tw_budget *b, size_t n);

/* A further line if the budget was never used up, or the recorder had to catch up: why less was used than available. NULL: no line. */
void tw_budget_print_end(FILE *f, const char *before, const struct tw_budget *b, const struct tw_budget_end *end);

/* One line of this command on standard error: the share of the time that the recording covers. Nothing without a budget. */
void tw_budget_tell_part(const char *command, const struct tw_recording *r);

/* In full: what `info` says. Nothing if there was none. */
void tw_budget_print(const struct tw_recording *r);
void tw_budget_json(struct tw_json *j, const struct tw_recording *r);

#endif

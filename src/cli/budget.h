/* What became of a budget (record --budget), for people and for programs. */
#ifndef TW_CLI_BUDGET_H
#define TW_CLI_BUDGET_H

#include "recording/budget.h"
#include "recording/recording.h"
#include "report/json.h"

#include <stdio.h>

/* In one line, behind `before`. */
void tw_budget_print_line(FILE *f, const char *before, const struct tw_budget *b, size_t n);

/* A line more where the budget was never used up, or the recorder had to catch up: why less was used than there was. NULL: it is not said. */
void tw_budget_print_end(FILE *f, const char *before, const struct tw_budget *b, const struct tw_budget_end *end);

/* On standard error, in one line of this command: for what part of the time the recording stands. Nothing if there was no budget. */
void tw_budget_tell_part(const char *command, const struct tw_recording *r);

/* In full: what `info` says. Nothing if there was none. */
void tw_budget_print(const struct tw_recording *r);
void tw_budget_json(struct tw_json *j, const struct tw_recording *r);

#endif

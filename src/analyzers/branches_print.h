/*
 * The answer of branches.
 */
#ifndef TW_BRANCHES_PRINT_H
#define TW_BRANCHES_PRINT_H

#include "analyzers/branches_table.h"

#include <trackway/answer.h>
#include <trackway/names.h>

/* `predicts`: how often predictors were wrong, too. The table is sorted, and of no use afterwards. */
void tw_branches_print(struct tw_answer *a, struct tw_branches *t, struct tw_names *names, int predicts);

#endif

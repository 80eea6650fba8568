/*
 * Must the thread soon do something in the dispatcher: move to another window, switch to other code, answer the
 * collector?
 */
#ifndef TW_DUE_H
#define TW_DUE_H

#include "engine/record/ask.h"
#include "engine/record/budget.h"
#include "engine/record/window.h"

static inline bool tw_is_due(const struct thread *t)
{
	return tw_window_is_due() || tw_budget_is_due(t) || tw_ask_is_due(t);
}

#endif

/*
 * The accounts of a budget (budget.h): what may be charged in a period, and what has been. There is one in the
 * channel for all processes and threads, or one for each thread.
 *
 * A word holds the period's number and the ns drawn in it, so that all threads change it without a lock. The first to
 * reach a later period starts that: what was overdrawn in the last one counts as drawn, and what was left is kept, up
 * to the share of a whole period.
 *
 * The share of a period becomes available in parts as the period passes, one part ahead of time, so that a program
 * that ends in the middle of a long period has cost half of its share. If something is learned, all of it is
 * available at once: most new code runs as programs start.
 */
#ifndef TW_ACCOUNT_H
#define TW_ACCOUNT_H

#include "engine/record/room.h"

struct tw_account {
	u64 *word, *allowance, *granted, *cpu, *cpu_then, *owed;
};

struct tw_account tw_account_of(struct thread *t);

/* It is this period now: starts it in the account, if nobody has. Debts are paid from what is available. */
void tw_account_look(struct tw_account a, u64 period);

/*
 * Draws half of what is left of the first 1/part of what is available by `now` in the period, or a small rest, and
 * returns the amount. If others have reached a later period by now, *period is set to that.
 */
u64 tw_account_draw(struct tw_account a, u64 *period, u32 part, u64 now);

/* ns until more is available. */
u64 tw_account_more_after(u64 period, u64 now);

/* Of what was drawn in that period, `used` has been used: the rest is given back; use beyond it is drawn, too. */
void tw_account_settle(struct tw_account a, u64 period, u64 drawn, u64 used);

/* Others have used this much on behalf of the program's threads (channel/displaced.h): what is not available now is owed. */
void tw_account_owe(struct tw_account a, u64 used);

/* Is there something left? */
bool tw_account_has(struct tw_account a);

/*
 * Draws the amount by which the use is below the share of the part of the period that has passed, and returns it:
 * this would be left over at the end of the period. 0: nothing is left over, or too little, or the account is in
 * another period.
 */
u64 tw_account_draw_rest(struct tw_account a, u64 period, u64 now);

/* What a period's figures are added to. */
struct tw_budget_period *tw_account_figures(u64 period);
void tw_account_add(_Atomic uint64_t *at, u64 n);

#endif

/*
 * The accounts of a budget (budget.h): what may be charged in a period, and what has been. There is one in the channel for all processes and threads, or each thread has one of its own.
 *
 * A word holds the period's number and the ns that were drawn in it, so that all change it without a lock. Who comes first to a later period turns the account over: what was overdrawn in the
 * last is drawn in it already, what was left stays, up to the share of a whole period.
 *
 * What there is for a period comes in parts as it goes by, one part ahead of time, so that a program that ends in the middle of a long period has cost half of its share. Where something is learned
 * all is there at once: most of what is new comes as programs start.
 */
#ifndef TW_ACCOUNT_H
#define TW_ACCOUNT_H

#include "engine/record/room.h"

struct tw_account {
	u64 *word, *allowance, *granted, *cpu, *cpu_then, *owed;
};

struct tw_account tw_account_of(struct thread *t);

/* It is this period: turns the account over, if nobody has. What is owed is paid with what there is. */
void tw_account_look(struct tw_account a, u64 period);

/*
 * Draws half of what is left of the first 1/part of what there is by `now` in the period, or a small rest, and returns how much that is. If others have come to a later period by now, *period is that.
 */
u64 tw_account_draw(struct tw_account a, u64 *period, u32 part, u64 now);

/* In so many ns there is more to draw. */
u64 tw_account_more_after(u64 period, u64 now);

/* Of what was drawn in that period so much has been used: the rest is given back, what was used beyond is drawn too. */
void tw_account_settle(struct tw_account a, u64 period, u64 drawn, u64 used);

/* Others have used so much for the program's threads (channel/displaced.h): what is not left now is owed. */
void tw_account_owe(struct tw_account a, u64 used);

/* Is there something left? */
bool tw_account_has(struct tw_account a);

/*
 * Draws by how much less has been used than the share of the part of the period that has gone by, and returns how much that is. So much would be left over when the period ends. 0: there is no such rest, or
 * it is too small, or the account is of another period.
 */
u64 tw_account_draw_rest(struct tw_account a, u64 period, u64 now);

/* What a period's figures are added to. */
struct tw_budget_period *tw_account_figures(u64 period);
void tw_account_add(_Atomic uint64_t *at, u64 n);

#endif

/*
 * Budgets: in each period instrumentation costs the program at most a given amount of time. While some of it is left
 * the program runs in translations that record, otherwise in those of the bare engine. Both are kept, each linked
 * among themselves, and their code does not check how much is left.
 *
 * A thread has its own mode (thread.record.bare). It changes the mode in the dispatcher. A timer interrupts it in the
 * cache at any instruction; the state map has its registers. So a thread switches within the time that a signal
 * takes, independently of others. The timer that ends recording counts all time, as exactly as the kernel's timers;
 * it is stopped before a system call, which it would interrupt. The timer that resumes recording counts the thread's
 * CPU time, so it does not run in a call that waits, and expires at the kernel's next tick.
 *
 * What is charged is the cost of recording over the bare engine: the measured time that the engine took to translate,
 * to switch buffers, and to change modes; and for each byte of records its cost in the program's code (price.h). The
 * rest is in an account (account.h).
 *
 * What must hold:
 *  - A thread draws from the account before it records, and sets its timer so that it cannot cost more by then than
 *    it has drawn, since recording costs at most all the time it takes. It gives back what it did not use. So an
 *    account is overdrawn by at most the delay of the timer.
 *  - Overdrafts are taken from the next period.
 *  - The timer that ends recording does not repeat by itself; the handler of its signal sets it again, each time for
 *    twice as long. On a machine that shares its processors with others, setting the timer may take longer than its
 *    first interval, and the thread would make no progress. A signal that has arrived again already waits until the
 *    handler returns (signal/action.c).
 *  - If the collector has too few buffers left, a thread runs bare instead of waiting for it, since waiting is
 *    charged and records nothing. It waits only as long as some of the period's share would otherwise be left over.
 *  - A thread that switches says so in its stream (WINDOW, with the reason), and, if it starts to record, writes a
 *    keyframe, before it enters the cache again.
 */
#ifndef TW_BUDGET_H
#define TW_BUDGET_H

#include "engine/record/room.h"

/* A thread begins to write to its slot, or ends. */
void tw_budget_attach(struct thread *t);
void tw_budget_detach(struct thread *t);

/*
 * The thread is about to enter, and to look: if the collector has too few buffers left it waits, as long as some of
 * the period's share would otherwise be left over. That is charged and records nothing, but is better than not using
 * the share. Without the lock.
 */
void tw_budget_wait(struct thread *t);

/* Like tw_window_look: the thread, about to enter, checks how much is left. Under the lock. True: it continues in the other mode. */
bool tw_budget_look(struct thread *t);

/* Without the lock: may the thread continue as it is? */
bool tw_budget_steady(const struct thread *t);

/*
 * Do fragments test, by thread.count, whether the thread must enter the dispatcher? Recording fragments add the bytes
 * of their record to it. Do only few of the bare ones test?
 */
bool tw_budget_tests(void);
bool tw_budget_tests_rarely(void);

/* Is the budget checked only where code is translated? */
bool tw_budget_at_translation(void);

/* The thread is to come by the dispatcher. */
static inline bool tw_budget_is_due(const struct thread *t)
{
	return t->record->budget.due;
}

/* Its timer has come. */
void tw_budget_tick(struct thread *t);

/* The thread is about to make a system call, and has made it. */
void tw_budget_pause(struct thread *t);
void tw_budget_resume(struct thread *t);

/*
 * Bare code tells what is learned: may it now, and since when (time stamp counter) has the engine been at work? The
 * time is part of the statistics, and is charged if something was told. So finding that everything is known uses up
 * nothing of the budget for new code.
 */
bool tw_budget_may_tell(struct thread *t);
void tw_budget_told(struct thread *t, u64 began, bool told);

/* Does bare code tell nothing, and is what follows new code recorded instead? The thread has reached some. */
bool tw_budget_seeks(void);
void tw_budget_want(struct thread *t);

#endif

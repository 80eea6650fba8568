/*
 * Budgets: in each period of time instrumentation costs the program no more than so much. While there is something left the program runs in translations that record,
 * else in those of the bare engine; both are kept, each linked among themselves, and nothing in either asks how much is left.
 *
 * A thread has its own mode (thread.record.bare). It goes from one to the other in the dispatcher, to which a timer calls it out of the cache, from whatever
 * instruction it stands at: the state map has its registers. So it crosses within the time a signal takes, and it alone. The timer that ends recording is of all
 * time, as exact as the kernel's; it is stopped before a system call, which it would break off. The one that begins it again is of the thread's CPU time, which does
 * not run in a call that waits, and comes with the kernel's next tick.
 *
 * What is charged is what recording has cost over the bare engine: by the clock, what the engine took to translate, to switch buffers, and to change over; and for
 * each byte of records what that costs in the program's code (price.h). What is left of it is in an account (account.h).
 *
 * What must hold:
 *  - A thread draws from the account before it records, and sets its timer so that it cannot have cost more by then than it has drawn: recording costs no more
 *    than all the time it takes. What it did not use it gives back. So an account is overdrawn by no more than what the timer is late.
 *  - What is overdrawn is taken from the next period.
 *  - The timer that ends recording is set again by the handler of its signal, when it has come, and does not repeat by itself. Each time that it is set again it is for twice as long: on a machine
 *    whose processors are shared out by another, setting it may take longer than the first time it is set for, and the thread would get no further. One that has come again already
 *    waits for the handler to return (signal/action.c).
 *  - Where the collector has too few buffers left, a thread runs bare rather than wait for it, which is charged and records nothing; unless so little has been used by then that some of the period's
 *    share would be left over: so long it waits.
 *  - A thread that crosses tells so in its stream (WINDOW, with the reason), and, going on to record, writes a keyframe, before it enters the cache again.
 */
#ifndef TW_BUDGET_H
#define TW_BUDGET_H

#include "engine/record/room.h"

/* A thread begins to write to its slot, or ends. */
void tw_budget_attach(struct thread *t);
void tw_budget_detach(struct thread *t);

/*
 * The thread is about to enter, and to look: if the collector has too few buffers left it waits, for as long as what would be left over of the period's share lasts. That is charged, and records
 * nothing, but is better than not to use it at all. Without the lock.
 */
void tw_budget_wait(struct thread *t);

/* As tw_window_look: the thread, about to enter, sees how much is left. Under the lock. True: it goes on in the other mode. */
bool tw_budget_look(struct thread *t);

/* Without the lock: the thread may go on as it is. */
bool tw_budget_steady(const struct thread *t);

/* Do fragments test, by thread.count, whether the thread is to come by the dispatcher? Those that record add the bytes of the record to it. Do few of the bare ones? */
bool tw_budget_tests(void);
bool tw_budget_tests_rarely(void);

/* Is the budget looked at only where code is translated? */
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
 * Bare code tells what is learned: may it, and since when has the engine been at it, by the time stamp counter? What that took is among the figures; it is charged if something was told. So
 * finding that all is known does not use up what there is for what is new.
 */
bool tw_budget_may_tell(struct thread *t);
void tw_budget_told(struct thread *t, u64 began, bool told);

/* Does bare code tell nothing, and what follows on something new is recorded? The thread has come by some. */
bool tw_budget_seeks(void);
void tw_budget_want(struct thread *t);

#endif

/*
 * Calls of known functions, told with their arguments and results (record --calls): CALL and RETURN events. The functions are those of <trackway/called.h> and
 * others that the user names.
 *
 * A function's first instruction is a *place* where the dispatcher is come by each time: a block ends before it and no exit is linked to it, as where a window's mode
 * changes. So is, from the first call on that returns there, the place behind a call. At a place the registers are the application's own; the event is
 * written there, before the fragment.
 *
 * What must hold: whatever has been translated of a place before it became one is made stale before the thread that made it one goes on, so no
 * thread runs over it unseen. In a snapshot (code/snapshot.h) blocks end before each place that there was; functions are places again when their module is mapped, before its translations can be reached.
 */
#ifndef TW_CALLS_H
#define TW_CALLS_H

#include "engine/record/room.h"

/* Once, when the channel is there. */
void tw_calls_init(void);

/* Something executable was mapped from this file: functions are looked up in it. */
void tw_calls_mapped(const char *path, u64 address, u64 length, u64 offset);

/* Functions that began in [start, end) are there no more. */
void tw_calls_unmapped(u64 start, u64 end);

/* Is the dispatcher to be come by at this address, because of calls or of a window? Decoding and linking stop before it. Under the lock. */
bool tw_calls_stops_at(u64 pc);

/*
 * Places behind calls that have been made, or were expected: they stay where they are until the next call of this kind. Under the lock. Another process that begins with this one's translations expects
 * them: it would find each only with the first call, and translate what stands there again.
 */
u32 tw_calls_returns(const u64 **places);
void tw_calls_expect(const u64 *places, u32 n);

/*
 * The thread, about to enter at t->pc with t->regs, is at a place: tells it. Under the lock. Returns an address that has become a place by that, of
 * which there may be translations; 0: none.
 */
u64 tw_calls_look(struct thread *t);

#endif

/*
 * Calls of known functions, recorded with their arguments and results (record --calls): CALL and RETURN events. The
 * functions are those of <trackway/called.h> and others that the user names.
 *
 * A function's first instruction is a *place* where the dispatcher is always entered: a block ends before it and no
 * exit is linked to it, as where a window's mode changes. From the first call on that returns there, the place after
 * a call is one, too. At a place the registers are the application's own; the event is written there, before the
 * fragment.
 *
 * What must hold: when an address becomes a place, all its translations are made stale before the thread that caused
 * this continues, so no thread runs past it unnoticed. In a snapshot (code/snapshot.h) blocks end before all places
 * of that process. Functions become places again when their module is mapped, before its translations can be reached.
 */
#ifndef TW_CALLS_H
#define TW_CALLS_H

#include "engine/record/room.h"

/* Once, when the channel is there. */
void tw_calls_init(void);

/* Something executable was mapped from this file: functions are looked up in it. */
void tw_calls_mapped(const char *path, u64 address, u64 length, u64 offset);

/* Functions that start in [start, end) are gone. */
void tw_calls_unmapped(u64 start, u64 end);

/* Must the dispatcher be entered at this address, because of calls or of a window? Decoding and linking stop before it. Under the lock. */
bool tw_calls_stops_at(u64 pc);

/*
 * Places after calls that were made, or were expected. They stay valid until the next call of this kind. Under the
 * lock. Another process that starts with this one's translations expects these places; otherwise it would find each
 * only at the first call, and translate the code there again.
 */
u32 tw_calls_returns(const u64 **places);
void tw_calls_expect(const u64 *places, u32 n);

/*
 * The thread, about to enter at t->pc with t->regs, is at a place: writes the event. Under the lock. Returns an
 * address that has thereby become a place and may have translations; 0: none.
 */
u64 tw_calls_look(struct thread *t);

#endif

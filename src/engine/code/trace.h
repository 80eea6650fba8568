/*
 * Which paths become superblocks.
 *
 * What has run is in the thread's own buffer: when that is full, its first records are read over, and the places where hot paths begin (where a
 * backward branch leads, where a return or an indirect branch lands, where a superblock is left: Duesterwald and Bala, ASPLOS 2000) are counted. What
 * has been come by often enough becomes the start of a path, which is read off the records that follow (the next executing tail; path.h). Once several
 * looks have found nothing new, most buffers are passed over. No counter runs in the program, and a program too short to fill a buffer has no superblocks.
 *
 * A place that is come by from superblocks that know more registers than the one that begins there, gets another version of that.
 *
 * By which ways superblocks are left is counted likewise. One that is left by the same side exit more often than it goes on there, or that is one turn of a
 * loop, is made anew along the way that most of its executions took. A path that was a chance find so does no lasting harm. (Formats without the plain form
 * do not show their superblocks in records: there it stays as it is.)
 *
 * What must hold:
 *  - The path is a prediction and nothing else: a superblock leaves by a side exit wherever the program goes another way, and code that changed meanwhile
 *    ends the path (tw_translate_superblock).
 *  - Buffers are switched in signal handlers, on small stacks: there paths are only noted (thread.code.hot). The dispatcher translates.
 *  - Any thread reads fragments here without the lock: what is read of them does not change once their number is known.
 */
#ifndef TW_TRACE_H
#define TW_TRACE_H

#include "engine/code/room.h"

/* May read over the first records in [from, to), which the thread has written: data, all of it accessible. */
void tw_trace_look(struct thread *t, const u8 *from, u64 to);

/* Are there paths to be joined? */
bool tw_trace_found(const struct thread *t);

/* Makes superblocks of them. Under the lock. */
void tw_trace_join(struct thread *t);

#endif

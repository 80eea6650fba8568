/*
 * Selection of paths for superblocks.
 *
 * What has run is in the thread's own buffer. When that is full, its first records are examined, and places where hot
 * paths may start are counted: targets of backward branches, of returns and of indirect branches, and exits of
 * superblocks (Duesterwald and Bala, ASPLOS 2000). A place that was reached often enough starts a path, which is read
 * from the records that follow (the next executing tail; path.h). After several examinations without a find most
 * buffers are skipped. No counter runs in the program, and a program too short to fill a buffer has no superblocks.
 *
 * If a place is reached from superblocks that know more registers than the superblock that starts there, another
 * version of it is made.
 *
 * The exits of superblocks are counted, too. A superblock that is left by the same side exit more often than it
 * continues there, or that is one iteration of a loop, is remade along the way that most of its executions took. So a
 * path that was found by chance does no lasting harm. (Formats without the plain form do not show their superblocks
 * in records; there it stays as it is.)
 *
 * What must hold:
 *  - The path is only a prediction: a superblock leaves by a side exit wherever the program goes another way, and
 *    code that has changed meanwhile ends the path (tw_translate_superblock).
 *  - Buffers are switched in signal handlers, on small stacks: there paths are only noted (thread.code.hot). The
 *    dispatcher translates.
 *  - Any thread reads fragments here without the lock: the fields that are read do not change once their number is
 *    known.
 */
#ifndef TW_TRACE_H
#define TW_TRACE_H

#include "engine/code/room.h"

/* May examine the first records in [from, to), which the thread has written: data, all of it accessible. */
void tw_trace_look(struct thread *t, const u8 *from, u64 to);

/* Are there paths to be joined? */
bool tw_trace_found(const struct thread *t);

/* Makes superblocks of them. Under the lock. */
void tw_trace_join(struct thread *t);

#endif

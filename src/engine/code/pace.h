/*
 * The speed of a program, measured by some of its own blocks: it tells what recording costs compared with running the
 * same work bare.
 *
 * A few blocks (points) are chosen that run often enough to be counted in a millisecond or two, and rarely enough
 * that counting them costs nothing. Each execution of one adds 1 to thread.pace, in translations of every kind,
 * superblocks included. The difference in rate between recording and bare code is the cost of recording
 * (record/budget.c).
 *
 * What must hold:
 *  - A point counts in all its translations, or in none: when a block becomes a point, or stops being one, all its
 *    translations are remade.
 *  - Points are chosen from what one thread has recorded; other threads may run them in other proportions. So each
 *    thread compares only its own counts.
 *  - A point that turns out to run too often, or no longer at all, is replaced.
 */
#ifndef TW_PACE_H
#define TW_PACE_H

#include "engine/code/room.h"
#include "engine/x86_64/emit.h"

/* The point at which a block at pc counts: a number from 1. 0: it is no point. */
u32 tw_pace_point(u64 pc);

/* Emits the counting code, at instruction `insn`, with these state flags. */
void tw_pace_emit(struct emit *e, u8 insn, u32 flags, u32 point);

/* A thread has finished this buffer of records: is there a block in it that could be a point? */
void tw_pace_look(struct thread *t, const u8 *from, u64 to);

/*
 * Turns blocks that were found into points, or removes useless points. Under the lock, from the dispatcher. True:
 * translations have become stale.
 */
bool tw_pace_follow(struct thread *t);

#endif

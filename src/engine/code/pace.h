/*
 * How fast a program goes, by some of its own blocks: so that what recording costs can be told from what the same work takes without.
 *
 * A few blocks are chosen that run often enough to be counted in a millisecond or two, and seldom enough that counting them costs nothing. Each execution of one adds 1 to
 * thread.pace, in translations of every kind, superblocks included. Where they come slower in code that records than in code that does not, that is what
 * recording costs (record/budget.c).
 *
 * What must hold:
 *  - A block that is a point counts in all translations there are of it, or none is counted: when it becomes one, or is none any more, all of them are made anew.
 *  - Points are chosen from what a thread has recorded, which other threads may run in other shares: each thread compares only its own counts.
 *  - One that turns out to come too often, or not at all any more, makes way for another.
 */
#ifndef TW_PACE_H
#define TW_PACE_H

#include "engine/code/room.h"
#include "engine/x86_64/emit.h"

/* Where a block at pc counts: a number from 1. 0: it is no point. */
u32 tw_pace_point(u64 pc);

/* Emits what counts, at instruction `insn`, where the state has these flags. */
void tw_pace_emit(struct emit *e, u8 insn, u32 flags, u32 point);

/* A thread is done with this buffer of records: is there a block to count by in it? */
void tw_pace_look(struct thread *t, const u8 *from, u64 to);

/* Makes those points that were found, or takes those back that are of no use. Under the lock, from the dispatcher. True: translations have become stale. */
bool tw_pace_follow(struct thread *t);

#endif

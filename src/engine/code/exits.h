/*
 * Exits: how control gets from a fragment's code to what comes next.
 *
 * A basic block has one end. A superblock is a path of several blocks: within it a jump costs nothing, and a call
 * only pushes its return address. What may leave the path, a conditional branch or a return, is a test with a side
 * exit, whose code is placed after the fragment's.
 *
 * What must hold: each exit that a record can distinguish is a path with its own number and descriptor. The record
 * starts with the number of the whole path (path 0); a side exit overwrites it with its own before it closes the
 * record.
 */
#ifndef TW_EXITS_H
#define TW_EXITS_H

#include "engine/x86_64/emit.h"
#include "engine/record/instrumentor.h"

/* Can control go directly from part k of the block to code at pc, within a superblock? */
bool tw_exits_follows(const struct block *b, u16 k, u64 pc);

/* May instruction k of the block, not the last, leave the path? */
bool tw_exits_has_side(const struct block *b, unsigned k);

/* The branch, call or return k, after which the path continues with instruction k + 1. */
void tw_exits_within(struct emit *e, const struct block *b, unsigned k);

/* The end of the path, and the side exits. */
void tw_exits_end(struct emit *e, const struct block *b, const struct plan *p);

#endif

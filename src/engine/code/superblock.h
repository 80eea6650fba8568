/*
 * Superblocks among the other fragments: when one is made of a hot path (trace.h finds those), and what then leads to it.
 *
 * Each place has at most one superblock for what is known there; one that knows nothing takes the place of the fragments of one block that stand there, one that
 * knows more is a version, entered by the exits that know as much. One that turned out to be of the wrong path is made anew, and retired.
 *
 * Under tw_engine.lock.
 */
#ifndef TW_SUPERBLOCK_H
#define TW_SUPERBLOCK_H

#include "engine/code/room.h"

/* Makes the superblock that follows this path, unless there is one or nothing is left of the path, and links to it whatever it is the best for. */
void tw_superblock_join(const struct tw_path *path);

#endif

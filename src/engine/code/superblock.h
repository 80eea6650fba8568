/*
 * Superblocks among the other fragments: when one is made of a hot path (trace.h finds those), and what then leads to
 * it.
 *
 * Each place has at most one superblock for each set of known registers. One that requires nothing replaces the
 * single-block fragments of that place. One that requires more is a version, entered from exits that know as much.
 * One that turns out to follow the wrong path is remade, and retired.
 *
 * Under tw_engine.lock.
 */
#ifndef TW_SUPERBLOCK_H
#define TW_SUPERBLOCK_H

#include "engine/code/room.h"

/* Makes the superblock that follows this path, unless there is one or nothing is left of the path, and links to it whatever it is the best for. */
void tw_superblock_join(const struct tw_path *path);

#endif

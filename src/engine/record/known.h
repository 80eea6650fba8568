/*
 * Descriptors that are there already. Programs translate the same code again: forks of a server each what the first of them had translated, a JIT what
 * was made stale around it, all of them what an emptied cache held. They share one descriptor, and so one number, as long as they run the same
 * program (since the same execve) and everything in it is equal but the process that made it.
 *
 * A table in the channel, by hash: lossy, so that it needs no more than its place; what is lost is described once more.
 */
#ifndef TW_KNOWN_H
#define TW_KNOWN_H

#include "engine/record/room.h"

/*
 * A group of descriptors, `bytes` long, stands complete but for the numbers and tags at `offset` of the table. Returns the first descriptor of an
 * equal group, or NULL, and notes this one, which the caller is to publish. Under the descriptor lock.
 */
const struct tw_descriptor *tw_known_find(u64 offset, u32 bytes);

/*
 * The first descriptor of a group that has *bytes and is of a superblock: one that begins with the blocks at pc[0] and pc[1] and knows the same registers. NULL: none was found. Under the descriptor lock.
 */
const struct tw_descriptor *tw_known_like(const u64 *pc, u32 context, u32 *bytes);

#endif

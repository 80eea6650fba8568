/*
 * Existing descriptors. Programs translate the same code repeatedly: forks of a server what the first of them had
 * translated, a JIT what became stale around it, and all programs what an emptied cache contained. These translations
 * share one descriptor, and so one number, as long as they belong to the same program (since the same execve) and
 * everything in them is equal except the process that made them.
 *
 * A hash table in the channel. It is lossy, so its size is fixed; what is lost is described again.
 */
#ifndef TW_KNOWN_H
#define TW_KNOWN_H

#include "engine/record/room.h"

/*
 * A group of descriptors, `bytes` long, is at `offset` of the table, complete except for numbers and tags. Returns
 * the first descriptor of an equal group; or NULL, and notes this one, which the caller must publish. Under the
 * descriptor lock.
 */
const struct tw_descriptor *tw_known_find(u64 offset, u32 bytes);

/*
 * The first descriptor of a group of *bytes that belongs to a superblock which starts with the blocks at pc[0] and
 * pc[1] and knows the same registers. NULL: none was found. Under the descriptor lock.
 */
const struct tw_descriptor *tw_known_like(const u64 *pc, u32 context, u32 *bytes);

#endif

/*
 * Paths of earlier superblocks.
 *
 * Virtual machines keep data next to code: HotSpot writes to pages of hot code twice a second. All translations of
 * such a page become stale and are made again. The blocks already have descriptors (known.h), but no two observations
 * of a program find exactly the same paths, so there would be new superblocks with new descriptors for ever. So a
 * path that starts like an earlier one is replaced by that one.
 *
 * It is a prediction like any path (trace.h): if the program now goes another way, the superblock is judged wrong and
 * remade like others.
 */
#ifndef TW_KNOWN_PATHS_H
#define TW_KNOWN_PATHS_H

#include "engine/code/room.h"

/*
 * The path of the superblock that started with the same block, continued with the same second one, and knew the same
 * registers; `path` if there was none.
 */
const struct tw_path *tw_known_path(const struct tw_path *path);

/* A superblock has been made of it. Both under the engine's lock. */
void tw_known_path_keep(const struct tw_path *path);

#endif

/*
 * The paths of superblocks that there have been.
 *
 * Virtual machines keep data beside code: HotSpot writes to pages of hot code twice a second. All that was made of such a page becomes stale and is made
 * again. Its blocks have their descriptors already (known.h), but no two looks at what a program runs find quite the same paths, so there would be new
 * superblocks with new descriptors for ever. So a path that begins like one before is taken to be that one.
 *
 * It is a prediction as any path is (trace.h): if the program goes another way now, the superblock is judged by that like others and made anew.
 */
#ifndef TW_KNOWN_PATHS_H
#define TW_KNOWN_PATHS_H

#include "engine/code/room.h"

/* The path of the superblock that began with the same block, went on with the same second one, and knew the same registers; if there was none, `path`. */
const struct tw_path *tw_known_path(const struct tw_path *path);

/* A superblock has been made of it. Both under the engine's lock. */
void tw_known_path_keep(const struct tw_path *path);

#endif

/*
 * The engine's file in the memory of a stopped process, mapped as the kernel would map it, by system calls that the process makes.
 */
#ifndef TW_IMAGE_H
#define TW_IMAGE_H

#include "attach/tracee.h"

/* `path_at`: where the path stands in the process. *entry: where the engine begins. 0, or -1 with a sentence in t->why. */
int tw_image_map(struct tw_tracee *t, const char *path, uint64_t path_at, uint64_t *entry);

#endif

/*
 * Maps the engine's file into the memory of a stopped process, as the kernel would, by system calls that the process
 * makes.
 */
#ifndef TW_IMAGE_H
#define TW_IMAGE_H

#include "attach/tracee.h"

/* `path_at`: the address of the path in the process. *entry: the engine's start. 0, or -1 with a sentence in t->why. */
int tw_image_map(struct tw_tracee *t, const char *path, uint64_t path_at, uint64_t *entry);

#endif

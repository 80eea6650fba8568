/*
 * Functions according to an ELF file's unwind information (.eh_frame), which strip leaves in place: start and end of
 * each, without a name.
 */
#ifndef TW_NAMES_FRAMES_H
#define TW_NAMES_FRAMES_H

#include <libelf.h>
#include <stdint.h>

/* Calls f for each, with the file's own addresses, until it returns 0; returns whether it never did. Without such information: no calls. */
int tw_frames_visit(Elf *elf, int (*f)(void *context, uint64_t start, uint64_t end), void *context);

#endif

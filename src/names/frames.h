/*
 * Functions by the unwind information of an ELF file (.eh_frame), which stays where symbols are stripped: where each begins and ends, without a name.
 */
#ifndef TW_NAMES_FRAMES_H
#define TW_NAMES_FRAMES_H

#include <libelf.h>
#include <stdint.h>

/* Calls f for each of them, by the file's own addresses, until it returns 0; returns whether it never did. Nothing where there is no such information. */
int tw_frames_visit(Elf *elf, int (*f)(void *context, uint64_t start, uint64_t end), void *context);

#endif

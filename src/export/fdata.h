/*
 * BOLT's profile format (fdata) for one ELF file: how often each branch was taken or fell through, by function and
 * offset; and how often functions were entered from outside. It has the same counts and names as `llvm-bolt
 * -instrument`, without rebuilding the file:
 *
 *     1 main 5d 1 main 30 0 15           from main+0x5d to main+0x30, 0 mispredicted (not known), 15 times
 *     0 [unknown] 0 1 main 0 0 1         main entered once from another file
 */
#ifndef TW_FDATA_H
#define TW_FDATA_H

#include "export/file_profile.h"

#include <stdio.h>

/* Writes the profile of the file at `path`. 0, or an error whose detail says what is missing (no symbols). */
int tw_fdata(const struct tw_file_profile *p, const struct tw_symbols *symbols, const char *path, FILE *f);

#endif

/*
 * A sample profile in LLVM's text form, for clang -fprofile-sample-use and llvm-profdata: what AutoFDO makes from samples, here from exact counts.
 *
 *     main:1240:1                 function: sum of all its counts, times it was entered
 *      3: 100                     line 3 after the function's first: executions (of the instruction that ran most)
 *      4.2: 99 weigh:99           discriminator 2 of line 4, and whom it called
 *      7: helper:250              on line 7 a function was inlined; its lines follow
 *       1: 50
 *
 * Functions go by their linkage names. Clang wants the file compiled with -g (best with -fdebug-info-for-profiling).
 */
#ifndef TW_AUTOFDO_H
#define TW_AUTOFDO_H

#include "export/file_profile.h"

#include <stdio.h>

/*
 * Writes the profile of the file at `path`, as mapped. 0, TW_ERR_MEMORY, or TW_ERR_SYSTEM without debug information;
 * the caller checks ferror(f).
 */
int tw_autofdo(const struct tw_file_profile *p, const struct tw_symbols *symbols, const char *path, FILE *f);

#endif

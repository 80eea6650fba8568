/*
 * Coverage in lcov's tracefile format, for genhtml: how often each source line, each function and each way out of a conditional branch was taken,
 * zeros included. Nothing need be compiled specially but -g; lines are counted as gcov counts them (line_counts.h).
 *
 * Branches are those of the machine code: each conditional jump on a line has two ways, past it (0) and taken (1), each indirect jump as many as were
 * seen. Only source files that can be read are in it.
 */
#ifndef TW_LCOV_H
#define TW_LCOV_H

#include "export/file_profile.h"

#include <stdio.h>

/*
 * Writes the coverage of the code in the file at `path` as mapped, NULL: in all files. *left_out is how many source files could not be read. 0,
 * TW_ERR_MEMORY, or TW_ERR_SYSTEM if there are no lines to tell of, or none of a file that can be read; the caller checks ferror(f).
 */
int tw_lcov(const struct tw_profile *p, const struct tw_symbols *symbols, const char *path, FILE *f, size_t *left_out);

#endif

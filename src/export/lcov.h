/*
 * Coverage in lcov's tracefile format, for genhtml: execution counts of source lines, functions and both ways of
 * conditional branches, including zeros. The code needs only -g; lines are counted as gcov counts them
 * (line_counts.h).
 *
 * Branches are those of the machine code: each conditional jump on a line has two ways, fall-through (0) and taken
 * (1); each indirect jump has as many as were seen. Only readable source files are included.
 */
#ifndef TW_LCOV_H
#define TW_LCOV_H

#include "export/file_profile.h"

#include <stdio.h>

/*
 * Writes the coverage of the code in the file at `path` as mapped, NULL: in all files. *left_out: number of
 * unreadable source files. 0, TW_ERR_MEMORY, or TW_ERR_SYSTEM if there are no lines, or none of a readable file; the
 * caller checks ferror(f).
 */
int tw_lcov(const struct tw_profile *p, const struct tw_symbols *symbols, const char *path, FILE *f, size_t *left_out);

#endif

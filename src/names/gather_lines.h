/* Lines and inlined functions (DWARF), for gather.h. */
#ifndef TW_GATHER_LINES_H
#define TW_GATHER_LINES_H

#include "names/ran.h"
#include "names/symbols.h"
#include "names/table.h"

/* Part of tw_gather_file: lines and inlined functions (DWARF) of the code in `joined`, which has the file's own addresses. */
int tw_gather_lines(const struct tw_symbols *symbols, size_t file, const struct tw_ran_list *joined, struct tw_name_table *out);

#endif

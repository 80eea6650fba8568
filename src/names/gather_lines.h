/* Lines and inlined functions (DWARF), for gather.h. */
#ifndef TW_GATHER_LINES_H
#define TW_GATHER_LINES_H

#include "names/ran.h"
#include "names/symbols.h"
#include "names/table.h"

/*
 * Part of tw_gather_file: adds lines and inlined functions (DWARF) of the code in `missing` (joined, with the file's
 * own addresses), and of all other code of the same units. All code of these units also goes to `known`. 0: no
 * memory.
 */
int tw_gather_lines(const struct tw_symbols *symbols, size_t file, const struct tw_ran_list *missing, struct tw_name_table *out,
                    struct tw_ran_list *known);

#endif

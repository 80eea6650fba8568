/* Lines and inlined functions (DWARF), for gather.h. */
#ifndef TW_GATHER_LINES_H
#define TW_GATHER_LINES_H

#include "names/ran.h"
#include "names/symbols.h"
#include "names/table.h"

/*
 * Part of tw_gather_file: adds lines and inlined functions (DWARF) of the code in `missing`, which is joined and has the file's own addresses, and of all other code of the units
 * that it is in; all that these units have goes to `known`, too. 0: no memory.
 */
int tw_gather_lines(const struct tw_symbols *symbols, size_t file, const struct tw_ran_list *missing, struct tw_name_table *out,
                    struct tw_ran_list *known);

#endif

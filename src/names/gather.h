/*
 * Gathering names: makes name tables for the code that ran, out of the files as they are now. What must hold:
 * - only files that hold the code that ran give names (names/unchanged.h); of others the table says why it is empty;
 * - a table has what is needed for code that ran: functions in which some did, lines and inlined functions of it; of variables all that have a symbol.
 */
#ifndef TW_GATHER_H
#define TW_GATHER_H

#include "names/file_store.h"
#include "names/ran.h"
#include "names/table.h"
#include "names/symbols.h"

/*
 * Fills the table, which is all zeros, for a file; `ran`: of that file. What the store has of the file is not gathered again, and the store gets what is; it may be NULL. 0: no memory;
 * tw_name_table_free in any case.
 */
int tw_gather_file(struct tw_symbols *symbols, size_t file, const struct tw_ran_list *ran, const struct tw_name_store *store,
                   struct tw_name_table *out);

/* Fills it for code that a process made: by its perf-PID.map, and by the jitdump files that it mapped. */
int tw_gather_made(const struct tw_symbols *symbols, const struct tw_ran_made *made, struct tw_name_table *out);

#endif

/*
 * Gathers names: makes name tables for the code that ran, from the files as they are now. What must hold:
 *
 *  - only files that still hold the code that ran give names (names/unchanged.h); for others the table says why it is
 *    empty;
 *  - a table has what is needed for code that ran: the functions in which some did, with its lines and inlined
 *    functions; and all variables that have a symbol.
 */
#ifndef TW_GATHER_H
#define TW_GATHER_H

#include "names/file_store.h"
#include "names/ran.h"
#include "names/table.h"
#include "names/symbols.h"

/*
 * Fills the table, which is all zeros, for a file; `ran`: code of that file. What the store has is not gathered
 * again; what is gathered goes to the store, which may be NULL. 0: no memory; tw_name_table_free in any case.
 */
int tw_gather_file(struct tw_symbols *symbols, size_t file, const struct tw_ran_list *ran, const struct tw_name_store *store,
                   struct tw_name_table *out);

/* Fills it for code that a process made, from its perf-PID.map and the jitdump files that it mapped. */
int tw_gather_made(const struct tw_symbols *symbols, const struct tw_ran_made *made, struct tw_name_table *out);

#endif

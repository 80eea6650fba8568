/*
 * All that is known of the names in one file: all functions and variables, and lines and inlined functions of the
 * parts asked for so far. It is one block of memory without pointers, so that it can be stored in a file and mapped
 * from there (file_store.h). The name table of a recording is the part that concerns code that ran.
 *
 * Addresses are the file's own.
 */
#ifndef TW_FILE_NAMES_H
#define TW_FILE_NAMES_H

#include "names/ran.h"
#include "names/table.h"

/* The header; the arrays follow in this order, each padded to a multiple of 8. */
struct tw_file_names {
	uint64_t bytes;               /* of all of it */
	uint64_t n[TW_N_NAME_ARRAYS]; /* functions in tw_functions_at's order, the others sorted by start; nodes as in tw_name_table */
	uint64_t n_known;             /* struct tw_ran_piece, joined: code whose lines are included, if it has any */
	uint64_t n_texts;             /* uint32_t each: where in the texts it begins */
	uint64_t text_bytes;          /* with NULs; the last byte is one */
	uint32_t has_lines;           /* 1: there is debug information */
	uint32_t reserved;
};

/*
 * Makes it from a table with all functions and variables, sorted as above; lines, inlined functions and variables are
 * sorted here. NULL: no memory; free() it.
 */
struct tw_file_names *tw_file_names_new(struct tw_name_table *t, const struct tw_ran_list *known);

/* Whether `n` bytes are valid: no number in them leads outside them. */
int tw_file_names_are_sound(const struct tw_file_names *f, uint64_t n);

/*
 * Fills the table, which is all zeros except its path, with all that is known, so that more can be added. 0: no
 * memory; tw_name_table_free in any case.
 */
int tw_file_names_unpack(const struct tw_file_names *f, struct tw_name_table *out);

/*
 * Converts pieces from offsets in the file to its own addresses, as tw_name_table_vaddr does, sorted by these. 0: no
 * memory; free *out in any case.
 */
int tw_file_names_by_vaddr(const struct tw_file_names *f, const struct tw_ran_list *ran, struct tw_ran_list *out);

/*
 * The pieces whose lines are wanted, sorted and joined in *out: those that ran, and the first instruction of each
 * function in which one begins, since that tells the function's source. 0: no memory; free *out in any case.
 */
int tw_file_names_wanted(const struct tw_file_names *f, const struct tw_ran_list *ran, struct tw_ran_list *out);

/* The code of which lines are known, joined. 0: no memory. */
int tw_file_names_known(const struct tw_file_names *f, struct tw_ran_list *out);

/* The wanted code that is not known yet. 0: no memory. */
int tw_file_names_missing(const struct tw_file_names *f, const struct tw_ran_list *wanted, struct tw_ran_list *out);

/*
 * Fills the table, which is all zeros except its path, with what concerns code that ran: its functions, lines and
 * inlined functions; and all variables and segments. Its `why` is TW_NAME_STRIPPED if some code is in no function. 0:
 * no memory; tw_name_table_free in any case.
 */
int tw_file_names_extract(const struct tw_file_names *f, const struct tw_ran_list *ran, const struct tw_ran_list *wanted,
                          struct tw_name_table *out);

#endif

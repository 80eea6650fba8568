/*
 * What is known of the names of one file as a whole: all its functions and variables, and the lines and inlined functions of those parts of it that were asked for up to now. It is one piece
 * of memory without pointers, so that it can be kept in a file and be mapped from there (file_store.h). The name table of a recording is what of it concerns code that ran.
 *
 * Addresses are the file's own.
 */
#ifndef TW_FILE_NAMES_H
#define TW_FILE_NAMES_H

#include "names/ran.h"
#include "names/table.h"

/* At the beginning; then its arrays, each padded to a multiple of 8, in this order. */
struct tw_file_names {
	uint64_t bytes; /* of all of it */
	uint64_t n
	    [TW_N_NAME_ARRAYS]; /* functions stand in the order in which tw_functions_at finds them, the others sorted by start; nodes as in tw_name_table */
	uint64_t n_known;    /* struct tw_ran_piece, joined: code whose lines are in it, if it has any */
	uint64_t n_texts;    /* uint32_t each: where in the texts it begins */
	uint64_t text_bytes; /* with NULs; the last byte is one */
	uint32_t has_lines;  /* 1: there is debug information */
	uint32_t reserved;
};

/* Makes it from a table with all functions and variables, sorted as above but for lines, inlined functions and variables, which are sorted here. NULL: no memory; free() it. */
struct tw_file_names *tw_file_names_new(struct tw_name_table *t, const struct tw_ran_list *known);

/* Whether `n` bytes are such names: no number in them leads out of them. */
int tw_file_names_are_sound(const struct tw_file_names *f, uint64_t n);

/* Fills the table, which is all zeros but for its path, with all that is known, so that more can be added. 0: no memory; tw_name_table_free in any case. */
int tw_file_names_unpack(const struct tw_file_names *f, struct tw_name_table *out);

/* Pieces by offset in the file, by its own addresses and sorted by these; an address is what tw_name_table_vaddr has it. 0: no memory; *out is to be freed in any case. */
int tw_file_names_by_vaddr(const struct tw_file_names *f, const struct tw_ran_list *ran, struct tw_ran_list *out);

/*
 * Pieces that ran, sorted, whose lines are wanted, joined in *out: they, and the first instruction of each function that one of them begins in, for that says which source the function is of.
 * 0: no memory; *out is to be freed in any case.
 */
int tw_file_names_wanted(const struct tw_file_names *f, const struct tw_ran_list *ran, struct tw_ran_list *out);

/* The code of which lines are known, joined. 0: no memory. */
int tw_file_names_known(const struct tw_file_names *f, struct tw_ran_list *out);

/* What of the wanted code is not known yet. 0: no memory. */
int tw_file_names_missing(const struct tw_file_names *f, const struct tw_ran_list *wanted, struct tw_ran_list *out);

/*
 * Fills the table, which is all zeros but for its path, with what concerns code that ran: the functions it is in, its lines and inlined functions; all variables and segments. TW_NAME_STRIPPED is
 * its `why` where some code is in no function. 0: no memory; tw_name_table_free in any case.
 */
int tw_file_names_extract(const struct tw_file_names *f, const struct tw_ran_list *ran, const struct tw_ran_list *wanted,
                          struct tw_name_table *out);

#endif

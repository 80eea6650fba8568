/*
 * Shared by the parts of `trackway report`: report.c (options), report_print.c (tables), report_calls.c (tables of calls),
 * report_rows.c (which rows are shown), report_absent.c (messages if there are none), report_files.c (output files and the
 * page).
 */
#ifndef TW_REPORT_STATE_H
#define TW_REPORT_STATE_H

#include "analyze/strides.h"
#include "analyzers/contexts.h"
#include "export/outfile.h"
#include "cli/part.h"
#include "names/absent.h"
#include "report/costs.h"
#include "report/rows.h"

enum report_table { REPORT_FUNCTIONS, REPORT_LINES, REPORT_MEMORY, REPORT_BLOCKS, REPORT_CALLERS, REPORT_CALLEES, REPORT_TREE };
enum report_sort { SORT_SELF, SORT_INCLUSIVE, SORT_REFS, SORT_READS, SORT_WRITES, SORT_CALLS, SORT_NAME };

enum { REPORT_FORMS = TW_ROWS_CSV + 1, REPORT_STRIDES = 200 };

struct report {
	/* options */
	const char *dir;
	enum report_table table;
	int table_given, self_only, top_given, sort_given;
	uint64_t top;
	const char *of; /* callers, callees: of this function */
	enum report_sort sort;
	const char *function, *module; /* only rows of these; NULL: all */
	const char *html;              /* a page is wanted, in this file */
	const char *form
	    [REPORT_FORMS]; /* the wanted forms of tables (enum tw_rows_form) with their files; "-": standard output; NULL: not wanted */
	struct tw_names_options naming;
	uint64_t jobs, last;
	struct tw_rows rows;
	struct tw_part part;
	/* what was found */
	struct tw_recording *recording;
	struct tw_names *names;
	struct tw_costs costs;
	struct tw_stride strides[REPORT_STRIDES]; /* --memory */
	size_t n_strides;
	uint64_t most_rows;           /* of the forms' numbers of rows the largest; 0: all */
	struct tw_context_tree calls; /* --tree */
	struct tw_absent absent;      /* what to say about a function that is not in the table at all */
	int looked;                   /* it has been found out */
	uint64_t zero_rows;           /* in the last table: rows of functions that did not run */
	int written;                  /* all that was asked for */
	struct tw_outfile page_file, form_file[REPORT_FORMS];
};

/* Prints the requested table. 0, a negative enum tw_error, or an exit status after reporting an error. */
int report_print(struct report *r, const struct tw_replay_options *replay);

/* Callers and callees; the tree of calls. Results as for report_print. */
int report_pairs(struct report *r);
int report_tree(struct report *r);

/* ---- report_rows.c ---- */

/* Whether --function and --module let rows of this be shown. */
int report_is_shown(const struct report *r, const char *function, const char *module);

/* The place of a function or line as one text: the caller frees it. NULL: no memory. */
char *report_place_of(const char *function, const char *module, const char *file, uint32_t line);

/* ---- report_absent.c ---- */

/* About the requested function, which is not in the table at all. */
const struct tw_absent *report_absent(struct report *r);

/* If the table has no row for what was requested by name: says why. 0, a negative enum tw_error, or an exit status: it does not exist. */
int report_judge(struct report *r);

/* ---- report_files.c ---- */

/* Whether any table is wanted. */
int report_has_tables(const struct report *r);

/* How many outputs go to standard output. */
int report_to_stdout(const struct report *r);

/* Opens the files before anything is replayed. 0, or an exit status after reporting an error. */
int report_open_files(struct report *r);

/* Writes the tables in all their forms. 0, a negative enum tw_error, or an exit status after reporting an error. */
int report_tables(struct report *r, const struct tw_replay_options *replay);

/* Makes the page, and writes it. 0 or a negative enum tw_error. */
int report_page(struct report *r, const struct tw_replay_options *replay);

/* Closes what is open; files are kept if they are complete. Returns an exit status. */
int report_close_files(struct report *r, int keep);

#endif

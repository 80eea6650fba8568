/* What the parts of `trackway report` share: report.c (options), report_print.c (tables), report_calls.c (tables of calls), report_rows.c (which rows are shown), report_html.c (the page). */
#ifndef TW_REPORT_STATE_H
#define TW_REPORT_STATE_H

#include "cli/part.h"
#include "report/costs.h"
#include "report/rows.h"

enum report_table { REPORT_FUNCTIONS, REPORT_LINES, REPORT_MEMORY, REPORT_BLOCKS, REPORT_CALLERS, REPORT_CALLEES, REPORT_TREE };
enum report_sort { SORT_SELF, SORT_INCLUSIVE, SORT_REFS, SORT_READS, SORT_WRITES, SORT_CALLS, SORT_NAME };

struct report {
	/* options */
	const char *dir;
	enum report_table table;
	int table_given, self_only, top_given, sort_given;
	const char *of; /* callers, callees: of this function */
	enum report_sort sort;
	const char *function, *module; /* only rows of these; NULL: all */
	const char *html;              /* a page is wanted, in this file */
	struct tw_names_options naming;
	uint64_t jobs, last;
	struct tw_rows rows;
	struct tw_part part;
	/* what was found */
	struct tw_recording *recording;
	struct tw_names *names;
	struct tw_costs costs;
};

/* Prints the table that was asked for. 0, a negative enum tw_error, or an exit status with a sentence said. */
int report_print(struct report *r, const struct tw_replay_options *replay);

/* Callers and callees; the tree of calls. Results as of report_print. */
int report_pairs(struct report *r);
int report_tree(struct report *r);

/* ---- report_rows.c ---- */

/* Whether a name is the one that is wanted, or is with its parameters (C++). */
int report_is_named(const char *name, const char *wanted);

/* Whether --function and --module let rows of this be shown. */
int report_is_shown(const struct report *r, const char *function, const char *module);

/* Where a function or line stands, in one text: the caller frees it. NULL: no memory. */
char *report_place_of(const char *function, const char *module, const char *file, uint32_t line);

/* ---- report_html.c ---- */

/* Writes the page to r->html. An exit status; what is wrong has been said. */
int report_html(struct report *r, const struct tw_replay_options *replay);

#endif

/*
 * Answers: facts and tables, which are printed as text for 80 columns, as one JSON object, or, a table of them, as CSV: the user chooses, the analyzer need not know.
 *
 *     static const struct tw_column columns[] = {{"writes", TW_COLUMN_COUNT}, {"function", TW_COLUMN_TEXT}, {NULL, 0}};
 *     tw_answer_fact(a, "bytes_written", bytes);
 *     tw_answer_table(a, "functions", "Functions that write most", columns);
 *     tw_answer_row(a, (struct tw_cell[]){{.count = 12}, {.text = "main"}});
 *
 * Names are those of JSON and CSV; text shows them with spaces for underscores. A table ends where the next one begins. Text shows the first rows of a table, 20
 * unless the user says otherwise (--top): put the important ones first.
 */
#ifndef TRACKWAY_ANSWER_H
#define TRACKWAY_ANSWER_H

#include <stdint.h>
#include <stdio.h>

struct tw_answer;

enum tw_column_kind {
	TW_COLUMN_COUNT,   /* text: in full where the table fits into 80 columns so, else 12.3M */
	TW_COLUMN_SHARE,   /* .real, of 1; text: 12.34 %; else a number from 0 to 1 */
	TW_COLUMN_REAL,    /* text: two decimals */
	TW_COLUMN_ADDRESS, /* .count; text and CSV: 0x...; JSON: a number */
	TW_COLUMN_TEXT,    /* copied. The last one of a table is cut where it does not fit, or, a path of calls, stands below its row */
	TW_COLUMN_CHANGE,  /* .change; text: in full, with its sign, + as well; else a number, which may be negative */
};

/* What stands between the calls of a path, the innermost of which comes first. */
#define TW_ANSWER_CALLED_BY " < "

struct tw_column {
	const char *name; /* the last column has NULL */
	uint8_t kind;     /* enum tw_column_kind */
};

struct tw_cell {
	union {
		uint64_t count;
		int64_t change;
		double real;
		const char *text;
	};
};

void tw_answer_fact(struct tw_answer *a, const char *name, uint64_t value);
void tw_answer_fact_real(struct tw_answer *a, const char *name, double value);
void tw_answer_fact_text(struct tw_answer *a, const char *name, const char *text);

/* Begins a table. `columns` must stay until the next call for `a`. */
void tw_answer_table(struct tw_answer *a, const char *name, const char *title, const struct tw_column *columns);

/* A row of it: one cell for each column. */
void tw_answer_row(struct tw_answer *a, const struct tw_cell *cells);

/* For what is neither: the stream itself, where the analyzer prints as it likes, and the answer prints nothing more. */
FILE *tw_answer_stream(struct tw_answer *a);

#endif

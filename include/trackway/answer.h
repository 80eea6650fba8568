/*
 * Answers: facts and tables. They are printed as text for 80 columns, as one JSON object, or (one table) as CSV, as
 * the user asks; the analyzer need not know which.
 *
 *     static const struct tw_column columns[] = {{"writes", TW_COLUMN_COUNT}, {"function", TW_COLUMN_TEXT}, {NULL, 0}};
 *     tw_answer_fact(a, "bytes_written", bytes);
 *     tw_answer_table(a, "functions", "Functions that write most", columns);
 *     tw_answer_row(a, (struct tw_cell[]){{.count = 12}, {.text = "main"}});
 *
 * JSON and CSV use the names as given; text shows spaces instead of underscores. A table ends where the next one
 * starts. Text shows the first rows of a table, 20 unless the user asks for another number (--top): put the important
 * ones first.
 */
#ifndef TRACKWAY_ANSWER_H
#define TRACKWAY_ANSWER_H

#include <stdint.h>
#include <stdio.h>

struct tw_answer;

enum tw_column_kind {
	TW_COLUMN_COUNT,   /* text: in full if the table then fits into 80 columns, otherwise 12.3M */
	TW_COLUMN_SHARE,   /* .real, a fraction of 1; text: 12.34 %; otherwise a number from 0 to 1 */
	TW_COLUMN_REAL,    /* text: two decimals */
	TW_COLUMN_ADDRESS, /* .count; text and CSV: 0x...; JSON: a number */
	TW_COLUMN_TEXT,    /* copied. If the last column is too wide it is cut, or, a path of calls, printed below its row */
	TW_COLUMN_CHANGE,  /* .change; text: in full, always with a sign; otherwise a number, which may be negative */
};

/* Separates the calls of a path; the innermost comes first. */
#define TW_ANSWER_CALLED_BY " < "

struct tw_column {
	const char *name; /* NULL after the last column */
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

/* Starts a table. `columns` must stay valid until the next call for `a`. */
void tw_answer_table(struct tw_answer *a, const char *name, const char *title, const struct tw_column *columns);

/* Adds a row: one cell for each column. */
void tw_answer_row(struct tw_answer *a, const struct tw_cell *cells);

/* For anything else: the output stream itself. The analyzer prints what it likes, and the answer prints nothing more. */
FILE *tw_answer_stream(struct tw_answer *a);

#endif

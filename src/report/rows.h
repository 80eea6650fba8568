/*
 * Tables in three forms: text, as wide as the terminal and never cut in a pipe; members of a JSON object;
 * comma-separated values. Text shows the first rows, and how many more there are; the others show the requested
 * number of rows, with a total.
 */
#ifndef TW_ROWS_H
#define TW_ROWS_H

#include "report/json.h"

enum tw_rows_form { TW_ROWS_TEXT, TW_ROWS_JSON, TW_ROWS_CSV };

enum tw_row_kind {
	TW_ROW_SHARE,   /* .count of .whole; text: 12.34%; omitted in JSON and CSV, which have the counts */
	TW_ROW_COUNT,   /* text: 12.3M */
	TW_ROW_SIGNED,  /* likewise in full */
	TW_ROW_ADDRESS, /* JSON: a number; else 0x... */
	TW_ROW_TEXT,    /* text: "" is omitted; the last column has all remaining room */
};

struct tw_row_column {
	const char *key, *title; /* for JSON and CSV; for text, at most as wide as the column; NULL: not in that form */
	uint8_t kind;            /* enum tw_row_kind */
	uint8_t width;           /* of text; 0: what the kind takes */
};

union tw_row_cell {
	struct {
		uint64_t count, whole;
	};
	int64_t difference;
	const char *text;
};

struct tw_rows {
	enum tw_rows_form form;
	FILE *f;              /* where they go */
	struct tw_json *json; /* of that form: open */
	uint64_t top;         /* at most so many rows; 0: all */
	int late;             /* text: title and heads come with the first row, and not without one */
	/* the rows' own */
	const struct tw_row_column *columns;
	const char *name, *title;
	uint64_t n;
};

/* Begins a table of `columns`; the last has neither key nor title. */
void tw_rows_begin(struct tw_rows *rows, const char *name, const char *title, const struct tw_row_column *columns);

/* A row: a cell for each column. Rows beyond the top are only counted. */
void tw_rows_add(struct tw_rows *rows, const union tw_row_cell *cells);
void tw_rows_end(struct tw_rows *rows);

#endif

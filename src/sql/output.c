#include "sql/output.h"
#include "report/json.h"
#include "report/printable.h"

#include <stdlib.h>
#include <string.h>

/* ---- a table: columns as wide as the first rows need ---- */

enum { LOOKED_AT = 500 };

/* Rows kept until the column widths are known. */
struct table {
	int n_columns;
	char **cells; /* of LOOKED_AT rows; NULL is NULL */
	int n_rows;
	int *width;
	int *is_number; /* of each column: it stands at the right */
};

static int columns_of(const char *s)
{
	int n = 0;
	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

static void widen(struct table *t, int column, const char *text)
{
	int width = columns_of(text);
	if (width > t->width[column])
		t->width[column] = width;
}

static void print_cell(FILE *f, const struct table *t, int column, const char *text)
{
	int last = column == t->n_columns - 1, blank = t->width[column] - columns_of(text);
	if (blank < 0)
		blank = 0;
	fprintf(f, "%*s", t->is_number[column] ? blank : 0, "");
	tw_print_safe(f, text);
	if (!last)
		fprintf(f, "%*s  ", t->is_number[column] ? 0 : blank, "");
}

static void print_header(FILE *f, const struct table *t, sqlite3_stmt *s)
{
	for (int i = 0; i < t->n_columns; i++)
		print_cell(f, t, i, sqlite3_column_name(s, i));
	putc('\n', f);
	for (int i = 0; i < t->n_columns; i++) {
		for (int k = 0; k < t->width[i]; k++)
			putc('-', f);
		fputs(i + 1 < t->n_columns ? "  " : "\n", f);
	}
}

static void print_kept(FILE *f, struct table *t, sqlite3_stmt *s)
{
	print_header(f, t, s);
	for (int i = 0; i < t->n_rows * t->n_columns; i++) {
		print_cell(f, t, i % t->n_columns, t->cells[i] ? t->cells[i] : "");
		if (i % t->n_columns == t->n_columns - 1)
			putc('\n', f);
		free(t->cells[i]);
	}
	t->n_rows = -1;
}

static int keep_row(struct table *t, sqlite3_stmt *s)
{
	for (int i = 0; i < t->n_columns; i++) {
		const char *text = (const char *)sqlite3_column_text(s, i);
		int type = sqlite3_column_type(s, i);
		char *copy = text ? strdup(text) : NULL;
		if (text && !copy)
			return 0;
		t->cells[t->n_rows * t->n_columns + i] = copy;
		t->is_number[i] &= type != SQLITE_TEXT && type != SQLITE_BLOB;
		widen(t, i, text ? text : "");
	}
	t->n_rows++;
	return 1;
}

static void print_row(FILE *f, const struct table *t, sqlite3_stmt *s)
{
	for (int i = 0; i < t->n_columns; i++) {
		const char *text = (const char *)sqlite3_column_text(s, i);
		print_cell(f, t, i, text ? text : "");
	}
	putc('\n', f);
}

static int print_rows(FILE *f, struct table *t, sqlite3_stmt *s)
{
	int result;
	for (int i = 0; i < t->n_columns; i++) {
		t->is_number[i] = 1;
		widen(t, i, sqlite3_column_name(s, i));
	}
	while ((result = sqlite3_step(s)) == SQLITE_ROW && !ferror(f)) {
		if (t->n_rows == LOOKED_AT)
			print_kept(f, t, s);
		if (t->n_rows < 0)
			print_row(f, t, s);
		else if (!keep_row(t, s))
			return SQLITE_NOMEM;
	}
	if (t->n_rows >= 0)
		print_kept(f, t, s);
	return result == SQLITE_ROW ? SQLITE_DONE : result;
}

static int print_table(FILE *f, sqlite3_stmt *s)
{
	int n = sqlite3_column_count(s), result = SQLITE_NOMEM;
	size_t columns = (size_t)n;
	struct table t = {.n_columns = n};
	t.cells = calloc(LOOKED_AT * columns, sizeof *t.cells);
	t.width = calloc(columns, sizeof *t.width);
	t.is_number = calloc(columns, sizeof *t.is_number);
	if (t.cells && t.width && t.is_number)
		result = print_rows(f, &t, s);
	free(t.cells);
	free(t.width);
	free(t.is_number);
	return result;
}

/* ---- CSV ---- */

static void print_csv_text(FILE *f, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, f);
		return;
	}
	putc('"', f);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', f);
		putc(*text, f);
	}
	putc('"', f);
}

static int print_csv(FILE *f, sqlite3_stmt *s)
{
	int result, n = sqlite3_column_count(s);
	for (int i = 0; i < n; i++) {
		print_csv_text(f, sqlite3_column_name(s, i));
		fputs(i + 1 < n ? "," : "\n", f);
	}
	while ((result = sqlite3_step(s)) == SQLITE_ROW && !ferror(f)) {
		for (int i = 0; i < n; i++) {
			const char *text = (const char *)sqlite3_column_text(s, i);
			print_csv_text(f, text ? text : "");
			fputs(i + 1 < n ? "," : "\n", f);
		}
	}
	return result == SQLITE_ROW ? SQLITE_DONE : result;
}

/* ---- JSON ---- */

static void print_json_cell(struct tw_json *j, sqlite3_stmt *s, int column)
{
	const char *name = sqlite3_column_name(s, column);
	switch (sqlite3_column_type(s, column)) {
	case SQLITE_NULL:
		tw_json_null(j, name);
		break;
	case SQLITE_INTEGER:
		tw_json_signed(j, name, sqlite3_column_int64(s, column));
		break;
	case SQLITE_FLOAT:
		tw_json_real(j, name, sqlite3_column_double(s, column));
		break;
	default:
		tw_json_text(j, name, (const char *)sqlite3_column_text(s, column));
	}
}

static int print_json(FILE *f, sqlite3_stmt *s)
{
	struct tw_json j = {.f = f};
	int result;
	tw_json_open(&j, NULL, '[');
	while ((result = sqlite3_step(s)) == SQLITE_ROW && !ferror(f)) {
		tw_json_open(&j, NULL, '{');
		for (int i = 0; i < sqlite3_column_count(s); i++)
			print_json_cell(&j, s, i);
		tw_json_close(&j, '}');
	}
	tw_json_close(&j, ']');
	return result == SQLITE_ROW ? SQLITE_DONE : result;
}

int tw_sql_print(FILE *f, sqlite3_stmt *statement, enum tw_sql_form form)
{
	if (!sqlite3_column_count(statement))
		return sqlite3_step(statement);
	if (form == TW_SQL_CSV)
		return print_csv(f, statement);
	return form == TW_SQL_JSON ? print_json(f, statement) : print_table(f, statement);
}

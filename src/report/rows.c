#include "report/rows.h"
#include "report/printable.h"

#include <inttypes.h>
#include <string.h>

/* The last column of the form, which is not padded. */
static int is_last(const struct tw_row_column *c)
{
	for (c++; c->key || c->title; c++)
		if (c->title)
			return 0;
	return 1;
}

static unsigned width_of(const struct tw_row_column *c)
{
	static const uint8_t widths[] = {
	    [TW_ROW_SHARE] = 7, [TW_ROW_COUNT] = 6, [TW_ROW_SIGNED] = 8, [TW_ROW_ADDRESS] = 16, [TW_ROW_TEXT] = 16};
	return c->width ? c->width : widths[c->kind];
}

/* ---- text ---- */

static void put_heads(FILE *f, const struct tw_row_column *columns)
{
	for (const struct tw_row_column *c = columns; c->key || c->title; c++) {
		if (!c->title)
			continue;
		if (is_last(c) || c->kind == TW_ROW_TEXT)
			fprintf(f, " %s%*s", c->title, is_last(c) ? 0 : (int)(width_of(c) - strlen(c->title)), "");
		else
			fprintf(f, "%*s ", (int)width_of(c), c->title);
	}
	putc('\n', f);
}

static unsigned put_text_cell(FILE *f, const struct tw_row_column *c, const union tw_row_cell *cell, unsigned used)
{
	char text[32];
	unsigned terminal = tw_terminal_columns(f);
	switch (c->kind) {
	case TW_ROW_SHARE:
		return (unsigned)fprintf(f, "%6.2f%% ", cell->whole ? 100.0 * (double)cell->count / (double)cell->whole : 0.0);
	case TW_ROW_COUNT:
		return (unsigned)fprintf(f, "%*s ", (int)width_of(c), tw_scaled(cell->count, text));
	case TW_ROW_SIGNED:
		return (unsigned)fprintf(f, "%*" PRId64 " ", (int)width_of(c), cell->difference);
	case TW_ROW_ADDRESS:
		return (unsigned)fprintf(f, "%*" PRIx64 " ", (int)width_of(c), cell->count);
	default:
		putc(' ', f);
		if (is_last(c) && (!terminal || terminal <= used + 8))
			tw_print_safe(f, cell->text);
		else
			tw_print_cut(f, cell->text, is_last(c) ? terminal - used - 1 : width_of(c));
		return 1;
	}
}

static void put_text(FILE *f, const struct tw_row_column *c, const union tw_row_cell *cells)
{
	unsigned used = 0;
	for (; c->key || c->title; c++, cells++)
		used += c->title ? put_text_cell(f, c, cells, used) : 0;
	putc('\n', f);
}

/* ---- JSON and CSV ---- */

static void put_json(struct tw_json *j, const struct tw_row_column *c, const union tw_row_cell *cells)
{
	tw_json_open(j, NULL, '{');
	for (; c->key || c->title; c++, cells++) {
		if (!c->key)
			continue;
		if (c->kind == TW_ROW_TEXT && *cells->text)
			tw_json_text(j, c->key, cells->text);
		else if (c->kind == TW_ROW_SIGNED)
			tw_json_signed(j, c->key, cells->difference);
		else if (c->kind != TW_ROW_TEXT)
			tw_json_number(j, c->key, cells->count);
	}
	tw_json_close(j, '}');
}

/* With quotes where there must be. */
static void put_csv_text(FILE *f, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, f);
		return;
	}
	putc('"', f);
	for (; *text; text++)
		fputs(*text == '"' ? "\"\"" : (char[]){*text, 0}, f);
	putc('"', f);
}

static void put_csv(FILE *f, const struct tw_row_column *c, const union tw_row_cell *cells)
{
	const char *comma = "";
	for (; c->key || c->title; c++, cells++) {
		if (!c->key)
			continue;
		fputs(comma, f);
		comma = ",";
		if (c->kind == TW_ROW_TEXT)
			put_csv_text(f, cells->text);
		else if (c->kind == TW_ROW_SIGNED)
			fprintf(f, "%" PRId64, cells->difference);
		else
			fprintf(f, c->kind == TW_ROW_ADDRESS ? "0x%" PRIx64 : "%" PRIu64, cells->count);
	}
	putc('\n', f);
}

static void put_csv_heads(FILE *f, const struct tw_row_column *c)
{
	const char *comma = "";
	for (; c->key || c->title; c++) {
		if (!c->key)
			continue;
		fprintf(f, "%s%s", comma, c->key);
		comma = ",";
	}
	putc('\n', f);
}

/* ---- the face ---- */

static void put_title(const struct tw_rows *rows)
{
	fprintf(rows->f, "\n%s\n", rows->title);
	put_heads(rows->f, rows->columns);
}

void tw_rows_begin(struct tw_rows *rows, const char *name, const char *title, const struct tw_row_column *columns)
{
	rows->name = name;
	rows->title = title;
	rows->columns = columns;
	rows->n = 0;
	if (rows->form == TW_ROWS_JSON) {
		tw_json_open(rows->json, name, '[');
	} else if (rows->form == TW_ROWS_CSV) {
		put_csv_heads(rows->f, columns);
	} else if (!rows->late) {
		put_title(rows);
	}
}

void tw_rows_add(struct tw_rows *rows, const union tw_row_cell *cells)
{
	if (rows->form == TW_ROWS_TEXT && rows->late && !rows->n)
		put_title(rows);
	if (rows->n++ >= rows->top && rows->top)
		return;
	if (rows->form == TW_ROWS_JSON)
		put_json(rows->json, rows->columns, cells);
	else if (rows->form == TW_ROWS_CSV)
		put_csv(rows->f, rows->columns, cells);
	else
		put_text(rows->f, rows->columns, cells);
}

void tw_rows_end(struct tw_rows *rows)
{
	char key[64];
	if (rows->form == TW_ROWS_JSON) {
		tw_json_close(rows->json, ']');
		snprintf(key, sizeof key, "%s_total", rows->name);
		tw_json_number(rows->json, key, rows->n);
	} else if (rows->form == TW_ROWS_TEXT && rows->top && rows->n > rows->top) {
		fprintf(rows->f, "... and %" PRIu64 " more (-n 0 shows all)\n", rows->n - rows->top);
	} else if (rows->form == TW_ROWS_CSV && rows->top && rows->n > rows->top) {
		fprintf(stderr, "%" PRIu64 " rows of %" PRIu64 "\n", rows->top, rows->n);
	}
}

#include "report/rows.h"
#include "report/printable.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned tw_rows_width(void)
{
	struct winsize size;
	if (!isatty(STDOUT_FILENO))
		return 0;
	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

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

static void put_heads(const struct tw_row_column *columns)
{
	for (const struct tw_row_column *c = columns; c->key || c->title; c++) {
		if (!c->title)
			continue;
		if (is_last(c) || c->kind == TW_ROW_TEXT)
			printf(" %s%*s", c->title, is_last(c) ? 0 : (int)(width_of(c) - strlen(c->title)), "");
		else
			printf("%*s ", (int)width_of(c), c->title);
	}
	putchar('\n');
}

static unsigned put_text_cell(const struct tw_row_column *c, const union tw_row_cell *cell, unsigned used)
{
	char text[32];
	unsigned terminal = tw_rows_width();
	switch (c->kind) {
	case TW_ROW_SHARE:
		return (unsigned)printf("%6.2f%% ", cell->whole ? 100.0 * (double)cell->count / (double)cell->whole : 0.0);
	case TW_ROW_COUNT:
		return (unsigned)printf("%*s ", (int)width_of(c), tw_scaled(cell->count, text));
	case TW_ROW_SIGNED:
		return (unsigned)printf("%*" PRId64 " ", (int)width_of(c), cell->difference);
	case TW_ROW_ADDRESS:
		return (unsigned)printf("%*" PRIx64 " ", (int)width_of(c), cell->count);
	default:
		putchar(' ');
		if (is_last(c) && (!terminal || terminal <= used + 8))
			tw_print_safe(stdout, cell->text);
		else
			tw_print_cut(stdout, cell->text, is_last(c) ? terminal - used - 1 : width_of(c));
		return 1;
	}
}

static void put_text(const struct tw_row_column *c, const union tw_row_cell *cells)
{
	unsigned used = 0;
	for (; c->key || c->title; c++, cells++)
		used += c->title ? put_text_cell(c, cells, used) : 0;
	putchar('\n');
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
static void put_csv_text(const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, stdout);
		return;
	}
	putchar('"');
	for (; *text; text++)
		fputs(*text == '"' ? "\"\"" : (char[]){*text, 0}, stdout);
	putchar('"');
}

static void put_csv(const struct tw_row_column *c, const union tw_row_cell *cells)
{
	const char *comma = "";
	for (; c->key || c->title; c++, cells++) {
		if (!c->key)
			continue;
		fputs(comma, stdout);
		comma = ",";
		if (c->kind == TW_ROW_TEXT)
			put_csv_text(cells->text);
		else if (c->kind == TW_ROW_SIGNED)
			printf("%" PRId64, cells->difference);
		else
			printf(c->kind == TW_ROW_ADDRESS ? "0x%" PRIx64 : "%" PRIu64, cells->count);
	}
	putchar('\n');
}

static void put_csv_heads(const struct tw_row_column *c)
{
	const char *comma = "";
	for (; c->key || c->title; c++) {
		if (!c->key)
			continue;
		printf("%s%s", comma, c->key);
		comma = ",";
	}
	putchar('\n');
}

/* ---- the face ---- */

void tw_rows_begin(struct tw_rows *rows, const char *name, const char *title, const struct tw_row_column *columns)
{
	rows->name = name;
	rows->columns = columns;
	rows->n = 0;
	if (rows->form == TW_ROWS_JSON) {
		tw_json_open(rows->json, name, '[');
	} else if (rows->form == TW_ROWS_CSV) {
		put_csv_heads(columns);
	} else {
		printf("\n%s\n", title);
		put_heads(columns);
	}
}

void tw_rows_add(struct tw_rows *rows, const union tw_row_cell *cells)
{
	if (rows->n++ >= rows->top && rows->top)
		return;
	if (rows->form == TW_ROWS_JSON)
		put_json(rows->json, rows->columns, cells);
	else if (rows->form == TW_ROWS_CSV)
		put_csv(rows->columns, cells);
	else
		put_text(rows->columns, cells);
}

void tw_rows_end(struct tw_rows *rows)
{
	char key[64];
	if (rows->form == TW_ROWS_JSON) {
		tw_json_close(rows->json, ']');
		snprintf(key, sizeof key, "%s_total", rows->name);
		tw_json_number(rows->json, key, rows->n);
	} else if (rows->form == TW_ROWS_TEXT && rows->top && rows->n > rows->top) {
		printf("... and %" PRIu64 " more (-n 0 shows all)\n", rows->n - rows->top);
	} else if (rows->form == TW_ROWS_CSV && rows->top && rows->n > rows->top) {
		fprintf(stderr, "%" PRIu64 " rows of %" PRIu64 "\n", rows->top, rows->n);
	}
}

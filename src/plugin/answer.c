#include "plugin/answer.h"
#include "base/array.h"
#include "recording/recording.h"
#include "recording/slab.h"
#include "report/json.h"
#include "report/printable.h"

#include <stdlib.h>
#include <string.h>

/* Minimum columns of the screen; columns between two table columns; width of a last text that justifies shortened counts. */
enum { SCREEN = 80, GAP = 2, LAST_GOOD = 40, FACT_NAME = 24 };

struct tw_answer {
	struct tw_answer_options options;
	unsigned screen; /* columns of text */
	struct tw_json json;
	const struct tw_column *columns; /* of the open table; NULL: none is */
	const char *title;
	unsigned n_columns;
	struct tw_cell *cells; /* of its rows, side by side */
	size_t n_cells, room, n_rows;
	struct tw_slab *texts; /* of cells */
	int n_facts;           /* 1: something was printed before */
	int n_tables, found;   /* CSV: the table wanted has been there */
	int raw;               /* the analyzer has the stream */
	int failed;
	char *known; /* names of tables so far */
};

struct tw_answer *tw_answer_new(const struct tw_answer_options *options)
{
	struct tw_answer *a = calloc(1, sizeof *a);
	if (!a)
		return NULL;
	const unsigned columns = options->columns ? options->columns : tw_terminal_columns(options->f);
	a->options = *options;
	a->screen = columns > SCREEN ? columns : SCREEN;
	a->json.f = options->f;
	return a;
}

/* Before the first thing that is printed as JSON. */
static struct tw_json *json_of(struct tw_answer *a)
{
	if (!a->json.depth) {
		tw_json_begin(&a->json, "analyze");
		tw_json_text(&a->json, "analyzer", a->options.analyzer);
	}
	return &a->json;
}

/* A name as text shows it. */
static void print_name(FILE *f, const char *name)
{
	for (; *name; name++)
		fputc(*name == '_' ? ' ' : *name, f);
}

/* ---- one cell ---- */

static void format_text(const struct tw_cell *cell, uint8_t kind, int full, char to[64])
{
	switch (kind) {
	case TW_COLUMN_COUNT:
		if (full)
			tw_grouped(cell->count, to);
		else
			tw_scaled(cell->count, to);
		break;
	case TW_COLUMN_SHARE:
		snprintf(to, 64, "%.2f%%", 100 * cell->real);
		break;
	case TW_COLUMN_REAL:
		snprintf(to, 64, "%.2f", cell->real);
		break;
	case TW_COLUMN_CHANGE:
		snprintf(to, 64, "%+lld", (long long)cell->change);
		break;
	default:
		snprintf(to, 64, "0x%llx", (unsigned long long)cell->count);
	}
}

static void json_cell(struct tw_json *j, const struct tw_column *column, const struct tw_cell *cell)
{
	switch (column->kind) {
	case TW_COLUMN_COUNT:
	case TW_COLUMN_ADDRESS:
		tw_json_number(j, column->name, cell->count);
		break;
	case TW_COLUMN_TEXT:
		tw_json_text(j, column->name, cell->text);
		break;
	case TW_COLUMN_CHANGE:
		tw_json_signed(j, column->name, cell->change);
		break;
	default:
		tw_json_real(j, column->name, cell->real);
	}
}

/* As in RFC 4180: quoted if necessary. */
static void csv_text(FILE *f, const char *s)
{
	if (!s[strcspn(s, "\",\r\n")]) {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s; s++)
		fprintf(f, *s == '"' ? "\"\"" : "%c", *s);
	fputc('"', f);
}

static void csv_cell(FILE *f, uint8_t kind, const struct tw_cell *cell)
{
	switch (kind) {
	case TW_COLUMN_COUNT:
		fprintf(f, "%llu", (unsigned long long)cell->count);
		break;
	case TW_COLUMN_ADDRESS:
		fprintf(f, "0x%llx", (unsigned long long)cell->count);
		break;
	case TW_COLUMN_TEXT:
		csv_text(f, cell->text);
		break;
	case TW_COLUMN_CHANGE:
		fprintf(f, "%lld", (long long)cell->change);
		break;
	default:
		fprintf(f, "%.6f", cell->real);
	}
}

/* ---- a table as text ---- */

/* How a table is laid out. */
struct layout {
	int full; /* counts are printed in full */
	size_t n_rows;
	unsigned width[64];
};

static const struct tw_cell *cell_at(const struct tw_answer *a, size_t row, unsigned column)
{
	return &a->cells[row * a->n_columns + column];
}

static unsigned width_of(const struct tw_answer *a, const struct layout *l, unsigned column)
{
	char text[64];
	unsigned width = (unsigned)strlen(a->columns[column].name);
	for (size_t row = 0; row < l->n_rows; row++) {
		const struct tw_cell *cell = cell_at(a, row, column);
		unsigned n;
		if (a->columns[column].kind == TW_COLUMN_TEXT) {
			n = (unsigned)strlen(cell->text);
		} else {
			format_text(cell, a->columns[column].kind, l->full, text);
			n = (unsigned)strlen(text);
		}
		width = n > width ? n : width;
	}
	return width;
}

/* What all columns but a last one of text take. */
static unsigned fill_widths(const struct tw_answer *a, struct layout *l)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < a->n_columns; i++) {
		l->width[i] = width_of(a, l, i);
		if (i + 1 < a->n_columns || a->columns[i].kind != TW_COLUMN_TEXT)
			sum += l->width[i] + GAP;
	}
	return sum;
}

/* Short texts, and those that need no more than an equal share of the room, get what they need; the others share the rest. */
static void share_room(const struct tw_answer *a, struct layout *l, unsigned room)
{
	enum { SHORT = 12 };
	unsigned part = SHORT, left, n;
	for (;;) {
		left = room;
		n = 0;
		for (unsigned i = 0; i < a->n_columns; i++)
			if (a->columns[i].kind == TW_COLUMN_TEXT && l->width[i] > part)
				n++;
			else if (a->columns[i].kind == TW_COLUMN_TEXT)
				left -= l->width[i] < left ? l->width[i] : left;
		if (!n || left / n <= part)
			break;
		part = left / n;
	}
	for (unsigned i = 0; i < a->n_columns; i++)
		if (a->columns[i].kind == TW_COLUMN_TEXT && l->width[i] > part)
			l->width[i] = left >= n ? left / n : 1;
}

/* Counts in full if there is room; texts share the rest. */
static void lay_out(const struct tw_answer *a, struct layout *l)
{
	const unsigned last = a->n_columns - 1, has_last = a->columns[last].kind == TW_COLUMN_TEXT;
	l->full = 1;
	unsigned sum = fill_widths(a, l), most = has_last ? l->width[last] : 0;
	if (sum + (most < LAST_GOOD ? most : LAST_GOOD) > a->screen) {
		l->full = 0;
		sum = fill_widths(a, l);
	}
	for (unsigned i = 0; i < last; i++)
		sum -= a->columns[i].kind == TW_COLUMN_TEXT ? l->width[i] : 0;
	share_room(a, l, sum + 1 < a->screen ? a->screen - sum : 1);
}

/* The file and line at the end of a text; NULL: none. */
static const char *place_in(const char *text)
{
	const char *word = strrchr(text, ' '), *colon = strrchr(text, ':');
	return word && colon && colon > word + 1 && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")] ? word + 1 : NULL;
}

/* At least so much of a function's name precedes its place. */
enum { HEAD = 8 };

/* At most so many columns of a text. The place after a function's name is kept whole if there is room. */
static void print_cut(FILE *f, const char *text, unsigned width)
{
	enum { MOST = 256 };
	const char *place = place_in(text);
	const size_t n = place ? strlen(place) : 0, head = place ? (size_t)(place - text) - 1 : 0;
	char function[MOST];
	if (!place || head + 1 + n <= width || n + 1 + HEAD > width || width > MOST - 1) {
		tw_print_cut(f, text, width);
		return;
	}
	snprintf(function, sizeof function, "%.*s", (int)(head < MOST - 1 ? head : MOST - 1), text);
	tw_print_cut(f, function, width - (unsigned)n - 1);
	fprintf(f, " %s", place);
}

static void print_text_cell(FILE *f, const char *text, unsigned width, int last)
{
	const size_t n = strlen(text);
	print_cut(f, text, width);
	if (!last && n < width)
		fprintf(f, "%*s", (int)(width - n), "");
}

/* A column's name may be wider than its numbers: then they are padded to its width. */
static void print_heading(const struct tw_answer *a, const struct layout *l)
{
	FILE *f = a->options.f;
	for (unsigned i = 0; i < a->n_columns; i++) {
		int pad = (int)l->width[i] - (int)strlen(a->columns[i].name), text = a->columns[i].kind == TW_COLUMN_TEXT;
		if (i)
			fprintf(f, "%*s", GAP, "");
		if (!text)
			fprintf(f, "%*s", pad, "");
		print_name(f, a->columns[i].name);
		if (text && i + 1 < a->n_columns)
			fprintf(f, "%*s", pad > 0 ? pad : 0, "");
	}
	fputc('\n', f);
}

/*
 * Whether a text that has only so many columns deserves a line of its own: a call path; an address, which is useless
 * when cut; or a text that would lose its place.
 */
static int is_worth_a_line(const char *text, unsigned width)
{
	const char *place = place_in(text);
	return strstr(text, TW_ANSWER_CALLED_BY) || !strncmp(text, "0x", 2) || (place && HEAD + 1 + strlen(place) > width);
}

/* The text of the last column, if it does not fit and must go below. */
static const char *long_text(const struct tw_answer *a, const struct layout *l, size_t row)
{
	const unsigned last = a->n_columns - 1;
	const char *text = a->columns[last].kind == TW_COLUMN_TEXT ? cell_at(a, row, last)->text : "";
	return strlen(text) > l->width[last] && is_worth_a_line(text, l->width[last]) ? text : NULL;
}

/* Prints a call path below the row, on lines of its own, with as many calls as fit on each. */
static void print_path(const struct tw_answer *a, const char *path)
{
	enum { INDENT = 8, BETWEEN = sizeof TW_ANSWER_CALLED_BY - 1 };
	FILE *f = a->options.f;
	const size_t most = a->screen - INDENT - BETWEEN;
	char call[1024];
	size_t used = a->screen;
	while (*path) {
		const char *end = strstr(path, TW_ANSWER_CALLED_BY);
		const size_t n = end ? (size_t)(end - path) : strlen(path);
		snprintf(call, sizeof call, "%.*s", (int)(n < sizeof call ? n : sizeof call - 1), path);
		const size_t shown = strlen(call) < most ? strlen(call) : most;
		if (used + shown + BETWEEN > a->screen) {
			fprintf(f, "\n%*s", INDENT, "");
			used = INDENT;
		} else {
			fputc(' ', f);
		}
		print_cut(f, call, (unsigned)shown);
		fputs(end ? " <" : "", f);
		used += shown + BETWEEN;
		path = end ? end + BETWEEN : path + n;
	}
}

static void print_row(const struct tw_answer *a, const struct layout *l, size_t row)
{
	FILE *f = a->options.f;
	char text[64];
	const char *path = long_text(a, l, row);
	for (unsigned i = 0; i < a->n_columns - (path != NULL); i++) {
		const struct tw_cell *cell = cell_at(a, row, i);
		if (i)
			fprintf(f, "%*s", GAP, "");
		if (a->columns[i].kind == TW_COLUMN_TEXT) {
			print_text_cell(f, cell->text, l->width[i], i + 1 == a->n_columns);
		} else {
			format_text(cell, a->columns[i].kind, l->full, text);
			fprintf(f, "%*s", (int)l->width[i], text);
		}
	}
	if (path)
		print_path(a, path);
	fputc('\n', f);
}

static void print_text_table(struct tw_answer *a)
{
	struct layout l = {.n_rows = a->n_rows};
	uint64_t top = a->options.top < 0 ? TW_ANSWER_TOP : (uint64_t)a->options.top;
	if (top && l.n_rows > top)
		l.n_rows = (size_t)top;
	lay_out(a, &l);
	fprintf(a->options.f, "%s%s\n", a->n_facts++ ? "\n" : "", a->title);
	if (!a->n_rows) {
		fprintf(a->options.f, "  (nothing)\n");
		return;
	}
	print_heading(a, &l);
	for (size_t row = 0; row < l.n_rows; row++)
		print_row(a, &l, row);
	if (l.n_rows < a->n_rows)
		fprintf(a->options.f, "... and %zu more\n", a->n_rows - l.n_rows);
}

/* ---- tables ---- */

static size_t rows_wanted(const struct tw_answer *a)
{
	return a->options.top > 0 && (uint64_t)a->options.top < a->n_rows ? (size_t)a->options.top : a->n_rows;
}

static void print_json_table(struct tw_answer *a)
{
	for (size_t row = 0; row < rows_wanted(a); row++) {
		tw_json_open(&a->json, NULL, '{');
		for (unsigned i = 0; i < a->n_columns; i++)
			json_cell(&a->json, &a->columns[i], cell_at(a, row, i));
		tw_json_close(&a->json, '}');
	}
	tw_json_close(&a->json, ']');
}

static void print_csv_table(const struct tw_answer *a)
{
	FILE *f = a->options.f;
	for (unsigned i = 0; i < a->n_columns; i++)
		fprintf(f, "%s%s", i ? "," : "", a->columns[i].name);
	fputc('\n', f);
	for (size_t row = 0; row < rows_wanted(a); row++) {
		for (unsigned i = 0; i < a->n_columns; i++) {
			if (i)
				fputc(',', f);
			csv_cell(f, a->columns[i].kind, cell_at(a, row, i));
		}
		fputc('\n', f);
	}
}

static void close_table(struct tw_answer *a)
{
	if (!a->columns)
		return;
	if (a->options.form == TW_ANSWER_TEXT)
		print_text_table(a);
	else if (a->options.form == TW_ANSWER_JSON)
		print_json_table(a);
	else
		print_csv_table(a);
	a->columns = NULL;
	a->n_cells = a->n_rows = 0;
	tw_slab_free(a->texts);
	a->texts = NULL;
}

/* Whether a table of CSV is the one that is wanted; notes its name. */
static int is_wanted(struct tw_answer *a, const char *name)
{
	char *known = NULL;
	if (a->options.form != TW_ANSWER_CSV)
		return 1;
	if (asprintf(&known, "%s%s%s", a->known ? a->known : "", a->known ? ", " : "", name) < 0)
		known = NULL;
	free(a->known);
	a->known = known;
	return a->options.table ? !strcmp(a->options.table, name) : a->n_tables == 0;
}

void tw_answer_table(struct tw_answer *a, const char *name, const char *title, const struct tw_column *columns)
{
	close_table(a);
	int wanted = is_wanted(a, name);
	a->n_tables++;
	a->found |= wanted;
	if (!wanted)
		return;
	a->columns = columns;
	a->title = title;
	for (a->n_columns = 0; columns[a->n_columns].name; a->n_columns++)
		;
	if (a->options.form == TW_ANSWER_JSON)
		tw_json_open(json_of(a), name, '[');
}

static int copy_text(struct tw_answer *a, struct tw_cell *cell)
{
	size_t n = strlen(cell->text) + 1;
	char *copy = tw_slab_take(&a->texts, (n + 7) & ~(size_t)7);
	if (copy)
		cell->text = memcpy(copy, cell->text, n);
	return copy != NULL;
}

void tw_answer_row(struct tw_answer *a, const struct tw_cell *cells)
{
	if (!a->columns || a->failed)
		return;
	struct tw_cell *all = tw_array_room(a->cells, a->n_cells + a->n_columns, &a->room, sizeof *all);
	if (!all) {
		a->failed = 1;
		return;
	}
	a->cells = all;
	memcpy(all + a->n_cells, cells, a->n_columns * sizeof *cells);
	for (unsigned i = 0; i < a->n_columns; i++)
		if (a->columns[i].kind == TW_COLUMN_TEXT && !copy_text(a, &all[a->n_cells + i]))
			a->failed = 1;
	a->n_cells += a->failed ? 0 : a->n_columns;
	a->n_rows += !a->failed;
}

/* ---- facts ---- */

/* Begins the line of a fact. 0: not as text. */
static int begin_fact(struct tw_answer *a, const char *name)
{
	close_table(a);
	if (a->options.form != TW_ANSWER_TEXT)
		return 0;
	a->n_facts++;
	print_name(a->options.f, name);
	fprintf(a->options.f, "%*s", (int)(strlen(name) < FACT_NAME ? FACT_NAME - strlen(name) : 1), "");
	return 1;
}

void tw_answer_fact(struct tw_answer *a, const char *name, uint64_t value)
{
	char text[32];
	if (begin_fact(a, name))
		fprintf(a->options.f, "%s\n", tw_grouped(value, text));
	else if (a->options.form == TW_ANSWER_JSON)
		tw_json_number(json_of(a), name, value);
}

void tw_answer_fact_real(struct tw_answer *a, const char *name, double value)
{
	if (begin_fact(a, name))
		fprintf(a->options.f, "%.2f\n", value);
	else if (a->options.form == TW_ANSWER_JSON)
		tw_json_real(json_of(a), name, value);
}

void tw_answer_fact_text(struct tw_answer *a, const char *name, const char *text)
{
	if (begin_fact(a, name)) {
		tw_print_cut(a->options.f, text, a->screen - FACT_NAME);
		fputc('\n', a->options.f);
	} else if (a->options.form == TW_ANSWER_JSON) {
		tw_json_text(json_of(a), name, text);
	}
}

FILE *tw_answer_stream(struct tw_answer *a)
{
	a->raw = 1;
	return a->options.f;
}

/* ---- the end ---- */

void tw_answer_free(struct tw_answer *a)
{
	if (!a)
		return;
	tw_slab_free(a->texts);
	free(a->cells);
	free(a->known);
	free(a);
}

int tw_answer_end(struct tw_answer *a, char **known)
{
	int result = 0;
	*known = NULL;
	close_table(a);
	if (a->options.form == TW_ANSWER_JSON && !a->raw)
		tw_json_close(json_of(a), '}');
	if (a->options.form == TW_ANSWER_CSV && !a->raw && !a->found) {
		*known = a->known;
		a->known = NULL;
		result = 1;
	}
	if (a->failed)
		result = tw_fail(TW_ERR_MEMORY, "the answer");
	tw_answer_free(a);
	return result;
}

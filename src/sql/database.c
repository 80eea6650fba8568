#include "sql/database.h"
#include "recording/index.h"
#include "sql/count.h"
#include "sql/functions.h"
#include "sql/scan.h"
#include "sql/small.h"
#include "sql/streams.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

const struct tw_sql_table *const tw_sql_tables[] = {
    &tw_sql_refs,   &tw_sql_block_runs, &tw_sql_calls,    &tw_sql_syscalls, &tw_sql_signals,   &tw_sql_windows,
    &tw_sql_blocks, &tw_sql_functions,  &tw_sql_branches, &tw_sql_threads,  &tw_sql_processes, &tw_sql_modules,
    NULL,
};

enum { N_TABLES = sizeof tw_sql_tables / sizeof tw_sql_tables[0] - 1 };

struct tw_database {
	sqlite3 *handle;
	struct tw_sql *sql;
	struct tw_counting counting;
	struct tw_rows rows[N_TABLES]; /* of small tables that have been read */
	int filled[N_TABLES];
};

struct vtab {
	sqlite3_vtab base;
	struct tw_database *database;
	unsigned number; /* of the table */
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct tw_scan *scan;
	const struct tw_rows *rows; /* NULL: at the end */
	size_t at;
	sqlite3_int64 rowid;
	int is_count; /* one row stands for all */
};

static const struct tw_sql_table *table_of(const struct vtab *v)
{
	return tw_sql_tables[v->number];
}

/* ---- SQLite's view of a table ---- */

char *tw_sql_schema(const struct tw_sql_table *table)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	if (!f)
		return NULL;
	fprintf(f, "CREATE TABLE %s(", table->name);
	for (unsigned i = 0; table->columns[i].name; i++) {
		int is_text = table->columns[i].kind == TW_CELL_TEXT || table->columns[i].kind == TW_CELL_TYPE;
		fprintf(f, "%s%s %s", i ? ", " : "", table->columns[i].name, is_text ? "TEXT" : "INTEGER");
	}
	fprintf(f, ")");
	fclose(f);
	return text;
}

static unsigned table_number(const char *name)
{
	unsigned i = 0;
	while (i < N_TABLES && strcmp(tw_sql_tables[i]->name, name))
		i++;
	return i;
}

static int vtab_connect(sqlite3 *handle, void *database, int argc, const char *const *argv, sqlite3_vtab **out, char **message)
{
	(void)argc;
	(void)message;
	struct vtab *v = calloc(1, sizeof *v);
	if (!v)
		return SQLITE_NOMEM;
	v->database = database;
	v->number = table_number(argv[0]);
	char *schema = tw_sql_schema(table_of(v));
	int error = schema ? sqlite3_declare_vtab(handle, schema) : SQLITE_NOMEM;
	free(schema);
	*out = &v->base;
	return error;
}

static int vtab_disconnect(sqlite3_vtab *v)
{
	free(v);
	return SQLITE_OK;
}

/* ---- which rows ---- */

static int is_taken_over(const struct tw_sql_table *t, const struct sqlite3_index_constraint *c)
{
	if (!c->usable || c->iColumn < 0)
		return 0;
	switch (t->columns[c->iColumn].kind) {
	case TW_CELL_INTEGER:
	case TW_CELL_OPTIONAL:
		return c->op == SQLITE_INDEX_CONSTRAINT_EQ || c->op == SQLITE_INDEX_CONSTRAINT_GT || c->op == SQLITE_INDEX_CONSTRAINT_GE ||
		       c->op == SQLITE_INDEX_CONSTRAINT_LT || c->op == SQLITE_INDEX_CONSTRAINT_LE;
	case TW_CELL_TYPE:
		return c->op == SQLITE_INDEX_CONSTRAINT_EQ;
	default:
		return 0;
	}
}

/* The plan is a text, for EXPLAIN QUERY PLAN and for filter(): "thread= insn>= insn<". idxNum 1: only a count is wanted. */
static int vtab_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	struct vtab *v = (struct vtab *)vtab;
	const struct tw_sql_table *t = table_of(v);
	sqlite3_str *plan = sqlite3_str_new(NULL);
	double cost = t->fill ? 1e4 : 1e12;
	int n = 0;
	for (int i = 0; i < info->nConstraint && t->take; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		if (!is_taken_over(t, c))
			continue;
		static const char *const ops[] = {
		    [SQLITE_INDEX_CONSTRAINT_EQ] = "=", [SQLITE_INDEX_CONSTRAINT_GT] = ">",  [SQLITE_INDEX_CONSTRAINT_GE] = ">=",
		    [SQLITE_INDEX_CONSTRAINT_LT] = "<", [SQLITE_INDEX_CONSTRAINT_LE] = "<=",
		};
		info->aConstraintUsage[i].argvIndex = ++n;
		sqlite3_str_appendf(plan, "%s%s%s", n > 1 ? " " : "", t->columns[c->iColumn].name, ops[c->op]);
		cost /= c->op == SQLITE_INDEX_CONSTRAINT_EQ ? 1000 : 10;
	}
	info->idxNum = t->count && tw_counting_is_all(&v->database->counting) && !info->colUsed && !n;
	info->idxStr = sqlite3_str_finish(plan);
	info->needToFreeIdxStr = 1;
	info->estimatedCost = cost;
	info->estimatedRows = cost < 1e18 ? (sqlite3_int64)cost + 1 : INT64_MAX;
	return SQLITE_OK;
}

/* ---- reading ---- */

static int vtab_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
	(void)vtab;
	struct cursor *c = calloc(1, sizeof *c);
	*out = c ? &c->base : NULL;
	return c ? SQLITE_OK : SQLITE_NOMEM;
}

static void rewind_cursor(struct cursor *c)
{
	tw_scan_free(c->scan);
	c->scan = NULL;
	c->rows = NULL;
	c->at = 0;
	c->rowid = 0;
	c->is_count = 0;
}

static int vtab_close(sqlite3_vtab_cursor *cursor)
{
	rewind_cursor((struct cursor *)cursor);
	free(cursor);
	return SQLITE_OK;
}

static int fails(struct vtab *v, int error)
{
	sqlite3_free(v->base.zErrMsg);
	v->base.zErrMsg = sqlite3_mprintf("%s: %s", table_of(v)->name, tw_error_text(error));
	return error == TW_ERR_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
}

/* Narrows a column's bounds to `column op value`. Values other than integers are left to SQLite, which checks each row again. */
static void narrow(struct tw_bounds *b, unsigned column, const char *op, int64_t value)
{
	int64_t low = INT64_MIN, high = INT64_MAX;
	if (*op != '<')
		low = op[0] == '>' && op[1] != '=' && value < INT64_MAX ? value + 1 : value;
	if (*op != '>')
		high = op[0] == '<' && op[1] != '=' && value > INT64_MIN ? value - 1 : value;
	if (low > b->low[column])
		b->low[column] = low;
	if (high < b->high[column])
		b->high[column] = high;
}

static int64_t type_of(const char *text)
{
	return !strcmp(text, "R") ? TW_READ : !strcmp(text, "W") ? TW_WRITE : !strcmp(text, "M") ? TW_MODIFY : 0;
}

/* One word of the plan and its value. */
static void take_constraint(const struct tw_sql_table *t, struct tw_bounds *b, const char *word, sqlite3_value *value)
{
	size_t n = strcspn(word, "<>=");
	for (unsigned i = 0; t->columns[i].name; i++) {
		if (strlen(t->columns[i].name) != n || memcmp(t->columns[i].name, word, n))
			continue;
		if (t->columns[i].kind == TW_CELL_TYPE && sqlite3_value_type(value) == SQLITE_TEXT)
			narrow(b, i, word + n, type_of((const char *)sqlite3_value_text(value)));
		else if (t->columns[i].kind != TW_CELL_TEXT && t->columns[i].kind != TW_CELL_TYPE &&
		         sqlite3_value_type(value) == SQLITE_INTEGER)
			narrow(b, i, word + n, sqlite3_value_int64(value));
	}
}

static int next_block(struct vtab *v, struct cursor *c)
{
	int error = tw_scan_next(c->scan, &c->rows);
	c->at = 0;
	return error ? fails(v, error) : SQLITE_OK;
}

static int begin_scan(struct vtab *v, struct cursor *c, const char *plan, int argc, sqlite3_value **argv)
{
	struct tw_bounds bounds;
	tw_bounds_all(&bounds);
	for (int i = 0; i < argc; i++) {
		take_constraint(table_of(v), &bounds, plan, argv[i]);
		plan += strcspn(plan, " ");
		plan += *plan == ' ';
	}
	c->scan = tw_scan_new(v->database->sql, table_of(v), &bounds);
	return c->scan ? next_block(v, c) : SQLITE_NOMEM;
}

static int begin_small(struct vtab *v, struct cursor *c)
{
	struct tw_database *d = v->database;
	struct tw_rows *rows = &d->rows[v->number];
	if (!d->filled[v->number]) {
		*rows = (struct tw_rows){0};
		while (table_of(v)->columns[rows->n_columns].name)
			rows->n_columns++;
		int error = table_of(v)->fill(d->sql, rows);
		if (error)
			return fails(v, error);
		d->filled[v->number] = 1;
	}
	c->rows = rows->n ? rows : NULL;
	return SQLITE_OK;
}

/* One row stands for all rows, none of which is made. */
static int begin_count(struct vtab *v, struct cursor *c)
{
	static const struct tw_rows one = {.n = 1};
	uint64_t n = 0;
	int error = tw_scan_count(v->database->sql, table_of(v), &n);
	if (error)
		return fails(v, error);
	v->database->counting.weight = (sqlite3_int64)n;
	c->is_count = 1;
	c->rows = n ? &one : NULL;
	return SQLITE_OK;
}

static int vtab_filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)cursor;
	struct vtab *v = (struct vtab *)cursor->pVtab;
	rewind_cursor(c);
	if (number)
		return begin_count(v, c);
	return table_of(v)->fill ? begin_small(v, c) : begin_scan(v, c, plan, argc, argv);
}

static int vtab_next(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;
	c->rowid++;
	if (++c->at < c->rows->n)
		return SQLITE_OK;
	if (c->scan)
		return next_block((struct vtab *)cursor->pVtab, c);
	c->rows = NULL;
	return SQLITE_OK;
}

static int vtab_eof(sqlite3_vtab_cursor *cursor)
{
	return !((struct cursor *)cursor)->rows;
}

static int vtab_column(sqlite3_vtab_cursor *cursor, sqlite3_context *result, int column)
{
	static const char *const types[] = {"", "R", "W", "M"};
	struct cursor *c = (struct cursor *)cursor;
	if (c->is_count)
		return SQLITE_OK;
	int64_t cell = c->rows->cells[c->at * c->rows->n_columns + (unsigned)column];
	switch (table_of((struct vtab *)cursor->pVtab)->columns[column].kind) {
	case TW_CELL_TEXT:
		if (cell)
			sqlite3_result_text(result, (const char *)(uintptr_t)cell, -1, SQLITE_STATIC);
		break;
	case TW_CELL_TYPE:
		sqlite3_result_text(result, types[cell & 3], 1, SQLITE_STATIC);
		break;
	case TW_CELL_OPTIONAL:
		if (cell != TW_NULL)
			sqlite3_result_int64(result, cell);
		break;
	default:
		sqlite3_result_int64(result, cell);
	}
	return SQLITE_OK;
}

static int vtab_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
	*rowid = ((struct cursor *)cursor)->rowid;
	return SQLITE_OK;
}

/* Without xCreate the tables are there without being created (eponymous). */
static const sqlite3_module module = {
    .xConnect = vtab_connect,
    .xBestIndex = vtab_best_index,
    .xDisconnect = vtab_disconnect,
    .xOpen = vtab_open,
    .xClose = vtab_close,
    .xFilter = vtab_filter,
    .xNext = vtab_next,
    .xEof = vtab_eof,
    .xColumn = vtab_column,
    .xRowid = vtab_rowid,
};

/* ---- the database ---- */

int tw_database_open(struct tw_sql *sql, struct tw_database **out)
{
	struct tw_database *d = *out = calloc(1, sizeof *d);
	if (!d)
		return SQLITE_NOMEM;
	d->sql = sql;
	const uint64_t hz = tw_recording_info(sql->recording)->tsc_hz;
	sql->ns_per_cycle = hz ? 1e9 / (double)hz : 0;
	int error = sqlite3_open(":memory:", &d->handle);
	for (unsigned i = 0; i < N_TABLES && !error; i++)
		error = sqlite3_create_module(d->handle, tw_sql_tables[i]->name, &module, d);
	if (!error)
		error = tw_counting_install(&d->counting, d->handle);
	return error ? error : tw_functions_install(d->handle, sql);
}

void tw_database_close(struct tw_database *d)
{
	if (!d)
		return;
	sqlite3_close(d->handle);
	for (unsigned i = 0; i < N_TABLES; i++)
		free(d->rows[i].cells);
	for (size_t i = 0; i < d->sql->n_texts; i++)
		free(d->sql->texts[i]);
	free(d->sql->texts);
	d->sql->texts = NULL;
	d->sql->n_texts = d->sql->room_texts = 0;
	tw_index_close(d->sql->index);
	d->sql->index = NULL;
	free(d);
}

sqlite3 *tw_database_handle(struct tw_database *d)
{
	return d->handle;
}

int tw_database_prepare(struct tw_database *d, const char *text, sqlite3_stmt **statement, const char **tail)
{
	d->sql->chunks_read = d->sql->chunks_passed_over = d->sql->chunks_indexed = 0;
	tw_counting_begin(&d->counting, text);
	return sqlite3_prepare_v2(d->handle, text, -1, statement, tail);
}

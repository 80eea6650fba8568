/*
 * A recording as an SQL database: SQLite with the tables of a recording (table.h) as virtual tables, and functions that name addresses.
 *
 *     symbol(pc [, thread])     the function that code is part of
 *     line(pc [, thread])       its source line, "file.c:12"
 *     object(addr [, thread])   the variable or mapping that an address is part of
 *
 * NULL: not known. Without a thread, the first thread's program is asked.
 *
 * What SQLite is told: which comparisons of integer columns with values the tables take over (rows are then made only where they hold, and chunks
 * that cannot have any are not read). SELECT count(*) of a whole table is not made row by row but counted by all replay threads; this holds for statements with
 * one SELECT, no function but count, and nothing else asked of the table.
 */
#ifndef TW_SQL_DATABASE_H
#define TW_SQL_DATABASE_H

#include "sql/table.h"

struct tw_database;

/*
 * `sql` must outlive it, but for its rows and texts, which are the database's. On failure returns an error of SQLite's, and *out is what tw_database_close
 * takes all the same.
 */
int tw_database_open(struct tw_sql *sql, struct tw_database **out);
void tw_database_close(struct tw_database *d);

sqlite3 *tw_database_handle(struct tw_database *d);

/* sqlite3_prepare_v2, with the counts of chunks set to 0. Every statement on the tables is to be prepared by this, and ended before the next. */
int tw_database_prepare(struct tw_database *d, const char *text, sqlite3_stmt **statement, const char **tail);

/* "CREATE TABLE refs(thread INTEGER, ...)", for SQLite and for .schema; NULL: there is no memory. The caller frees it. */
char *tw_sql_schema(const struct tw_sql_table *table);

#endif

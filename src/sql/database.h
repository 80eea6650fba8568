/*
 * A recording as an SQL database: SQLite with the tables of a recording (table.h) as virtual tables, and functions
 * that name addresses.
 *
 *     symbol(pc [, thread])     the function that code is part of
 *     line(pc [, thread])       its source line, "file.c:12"
 *     object(addr [, thread])   the variable or mapping that an address is part of
 *
 * NULL: not known. Without a thread, the first thread's program is used.
 *
 * The tables tell SQLite which comparisons of integer columns with values they handle: rows are then made only where
 * these hold, and chunks without such rows are not read. SELECT count(*) of a whole table makes no rows: all replay
 * threads count. This holds for statements with a single SELECT, no function but count, and no other use of the
 * table.
 */
#ifndef TW_SQL_DATABASE_H
#define TW_SQL_DATABASE_H

#include "sql/table.h"

struct tw_database;

/*
 * `sql` must outlive it, except for its rows and texts, which the database owns. On failure returns an SQLite error;
 * tw_database_close must still be called.
 */
int tw_database_open(struct tw_sql *sql, struct tw_database **out);
void tw_database_close(struct tw_database *d);

sqlite3 *tw_database_handle(struct tw_database *d);

/*
 * sqlite3_prepare_v2 after resetting the counts of chunks. Every statement on the tables must be prepared by this,
 * and ended before the next.
 */
int tw_database_prepare(struct tw_database *d, const char *text, sqlite3_stmt **statement, const char **tail);

/* "CREATE TABLE refs(thread INTEGER, ...)", for SQLite and for .schema; NULL: no memory. The caller frees it. */
char *tw_sql_schema(const struct tw_sql_table *table);

#endif

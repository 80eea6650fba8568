/*
 * Prints results of SQL statements: as a table for people, as CSV (RFC 4180), or as a JSON array of objects.
 */
#ifndef TW_SQL_OUTPUT_H
#define TW_SQL_OUTPUT_H

#include <sqlite3.h>
#include <stdio.h>

enum tw_sql_form { TW_SQL_TABLE, TW_SQL_CSV, TW_SQL_JSON };

/* Runs the statement to its end and prints its rows; nothing for a statement without columns. Returns SQLITE_DONE, or an error. */
int tw_sql_print(FILE *f, sqlite3_stmt *statement, enum tw_sql_form form);

#endif

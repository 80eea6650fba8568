/*
 * A scan: one pass over a stream (table.h), by a thread that replays and one that takes the rows.
 *
 * They exchange two blocks of rows; the faster one waits. Only chunks that can have wanted rows are replayed
 * (chunks.h); unwanted rows are dropped where they are made.
 *
 * Memory: two blocks of 4,096 rows, and replay's own.
 */
#ifndef TW_SQL_SCAN_H
#define TW_SQL_SCAN_H

#include "sql/chunks.h"
#include "sql/table.h"

struct tw_scan;

/* NULL: no memory, or no thread can be created. */
struct tw_scan *tw_scan_new(struct tw_sql *sql, const struct tw_sql_table *table, const struct tw_bounds *bounds);

/* The next block of rows, valid until the next call; *rows NULL: the end. Returns 0, or the error that ended the stream. */
int tw_scan_next(struct tw_scan *s, const struct tw_rows **rows);

/* Ends it, wherever it is. NULL is no scan. */
void tw_scan_free(struct tw_scan *s);

/* The number of rows of the table, counted by sql->jobs threads without making them. Returns 0 or an error. */
int tw_scan_count(struct tw_sql *sql, const struct tw_sql_table *table, uint64_t *count);

#endif

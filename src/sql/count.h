/*
 * count(), in which a row may count for several: so SELECT count(*) FROM refs need not make a row for each reference.
 *
 * It replaces SQLite's count(), and does the same for ordinary rows. If a statement has a single SELECT, whose only
 * function is count, a table of which no column is used gives a single row; `weight` says how many rows it stands
 * for.
 */
#ifndef TW_SQL_COUNT_H
#define TW_SQL_COUNT_H

#include <sqlite3.h>

struct tw_counting {
	sqlite3_int64 weight;      /* of the row that stands for all; 0: every row counts 1 */
	int may_be_all;            /* by its text, the statement may be such a one */
	int has_count, has_others; /* functions that it uses, as SQLite finds them */
};

int tw_counting_install(struct tw_counting *c, sqlite3 *handle);

/* A statement is about to be prepared. */
void tw_counting_begin(struct tw_counting *c, const char *text);

/* While it is being prepared: is it such a one? */
int tw_counting_is_all(const struct tw_counting *c);

#endif

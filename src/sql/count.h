/*
 * count(), which may count a row for more than one: so that SELECT count(*) FROM refs need not make a row of each reference.
 *
 * It takes the place of SQLite's own, and does the same where a row is a row. Where a statement has one SELECT, whose only function is count, a table of which
 * no column is asked for gives a single row, and says in `weight` for how many it stands.
 */
#ifndef TW_SQL_COUNT_H
#define TW_SQL_COUNT_H

#include <sqlite3.h>

struct tw_counting {
	sqlite3_int64 weight;      /* of the row that stands for all; 0: each row is one */
	int may_be_all;            /* by its text, the statement may be such a one */
	int has_count, has_others; /* functions that it uses, as SQLite finds them */
};

int tw_counting_install(struct tw_counting *c, sqlite3 *handle);

/* A statement is about to be prepared. */
void tw_counting_begin(struct tw_counting *c, const char *text);

/* While it is being prepared: is it such a one? */
int tw_counting_is_all(const struct tw_counting *c);

#endif

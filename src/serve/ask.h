/*
 * An SQL query from a page. It may only read, and only the recording's tables. It is aborted and refused if it takes
 * longer than TW_ASK_SECONDS or gives more than TW_ASK_BYTES.
 */
#ifndef TW_ASK_H
#define TW_ASK_H

#include "sql/database.h"

enum { TW_ASK_SECONDS = 60, TW_ASK_BYTES = 8 << 20 };

/* Before the first query; from then on the database is read-only. */
void tw_ask_prepare(struct tw_database *d);

/* 1: *answer is JSON, an array of objects; 0: it is a sentence that says what is wrong. *n bytes; the caller frees it. NULL: no memory. */
int tw_ask(struct tw_database *d, const char *question, char **answer, size_t *n);

#endif

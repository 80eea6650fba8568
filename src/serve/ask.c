#include "serve/ask.h"
#include "sql/output.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct limits {
	FILE *f;
	time_t until;
};

static int is_over(void *arg)
{
	const struct limits *l = arg;
	return time(NULL) > l->until || ftell(l->f) > TW_ASK_BYTES;
}

static int only_reading(void *arg, int action, const char *a, const char *b, const char *c, const char *d)
{
	(void)arg, (void)a, (void)b, (void)c, (void)d;
	return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE ? SQLITE_OK
	                                                                                                                   : SQLITE_DENY;
}

void tw_ask_prepare(struct tw_database *d)
{
	/* The authorizer would refuse what SQLite does to make its tables, so they are made now. */
	for (size_t i = 0; tw_sql_tables[i]; i++) {
		char text[80];
		sqlite3_stmt *statement = NULL;
		snprintf(text, sizeof text, "select 1 from %s", tw_sql_tables[i]->name);
		tw_database_prepare(d, text, &statement, NULL);
		sqlite3_finalize(statement);
	}
	sqlite3_set_authorizer(tw_database_handle(d), only_reading, NULL);
}

static int is_blank(const char *s)
{
	return !s[strspn(s, " \t\r\n;")];
}

/* What is wrong, in words, valid until the next statement; NULL: nothing. */
static const char *wrong_with(struct tw_database *d, int result)
{
	switch (result) {
	case SQLITE_OK:
	case SQLITE_DONE:
		return NULL;
	case SQLITE_INTERRUPT:
		return "the answer takes too long, or is too large: ask for less (limit 1000)";
	case SQLITE_AUTH:
		return "only SELECT statements are allowed here";
	default:
		return sqlite3_errmsg(tw_database_handle(d));
	}
}

/*
 * Prints the answer and returns 1; on an error, prints a line that says what is wrong, possibly after a part of the
 * answer, and returns 0.
 */
static int run(struct tw_database *d, const char *question, FILE *f)
{
	sqlite3_stmt *statement = NULL;
	const char *tail = "";
	int result = tw_database_prepare(d, question, &statement, &tail);
	const char *wrong = wrong_with(d, result);
	if (!wrong && !statement)
		wrong = "there is no statement";
	if (!wrong && !is_blank(tail))
		wrong = "one statement at a time";
	if (!wrong)
		wrong = wrong_with(d, tw_sql_print(f, statement, TW_SQL_JSON));
	if (wrong)
		fprintf(f, "\n%s", wrong);
	sqlite3_finalize(statement);
	return !wrong;
}

int tw_ask(struct tw_database *d, const char *question, char **answer, size_t *n)
{
	sqlite3 *handle = tw_database_handle(d);
	struct limits limits = {open_memstream(answer, n), time(NULL) + TW_ASK_SECONDS};
	if (!limits.f) {
		*answer = NULL;
		return 0;
	}
	sqlite3_progress_handler(handle, 1000, is_over, &limits);
	int good = run(d, question, limits.f);
	sqlite3_progress_handler(handle, 0, NULL, NULL);
	if (fclose(limits.f) || !*answer || good)
		return good;
	/* Output before an error is dropped: the sentence is the last line. */
	const char *sentence = strrchr(*answer, '\n');
	sentence = sentence ? sentence + 1 : *answer;
	*n = strlen(sentence);
	memmove(*answer, sentence, *n + 1);
	return 0;
}

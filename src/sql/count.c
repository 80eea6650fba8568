#include "sql/count.h"

#include <string.h>
#include <strings.h>

/* ---- which statements ---- */

/* How often a word occurs in a text, even where it is not an SQL word: then rows are counted one by one, which is correct too. */
static unsigned occurrences(const char *text, const char *word)
{
	unsigned n = 0;
	for (size_t length = strlen(word); *text; text++)
		n += !strncasecmp(text, word, length);
	return n;
}

void tw_counting_begin(struct tw_counting *c, const char *text)
{
	*c = (struct tw_counting){.may_be_all = occurrences(text, "select") == 1 && !occurrences(text, "over") &&
	                                        !occurrences(text, "join") && !strchr(text, ',')};
}

int tw_counting_is_all(const struct tw_counting *c)
{
	return c->may_be_all && c->has_count && !c->has_others;
}

static int look(void *counting, int what, const char *a, const char *function, const char *b, const char *inner)
{
	struct tw_counting *c = counting;
	(void)a;
	(void)b;
	(void)inner;
	if (what == SQLITE_FUNCTION && !strcasecmp(function, "count"))
		c->has_count = 1;
	else if (what == SQLITE_FUNCTION)
		c->has_others = 1;
	return SQLITE_OK;
}

/* ---- the function ---- */

static sqlite3_int64 *sum(sqlite3_context *context)
{
	return sqlite3_aggregate_context(context, sizeof(sqlite3_int64));
}

static void add(sqlite3_context *context, int argc, sqlite3_value **argv, sqlite3_int64 n)
{
	sqlite3_int64 *to = sum(context);
	if (!to)
		sqlite3_result_error_nomem(context);
	else if (!argc || sqlite3_value_type(argv[0]) != SQLITE_NULL)
		*to += n;
}

static void step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct tw_counting *c = sqlite3_user_data(context);
	add(context, argc, argv, c->weight ? c->weight : 1);
}

static void inverse(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	add(context, argc, argv, -1);
}

static void value(sqlite3_context *context)
{
	const sqlite3_int64 *n = sqlite3_aggregate_context(context, 0);
	sqlite3_result_int64(context, n ? *n : 0);
}

int tw_counting_install(struct tw_counting *c, sqlite3 *handle)
{
	int error = sqlite3_set_authorizer(handle, look, c);
	for (int n_args = 0; n_args < 2 && !error; n_args++)
		error = sqlite3_create_window_function(handle, "count", n_args, SQLITE_UTF8 | SQLITE_DETERMINISTIC, c, step, value, value,
		                                       inverse, NULL);
	return error;
}

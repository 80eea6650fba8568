#include "sql/functions.h"
#include "names/places.h"

/* The image in question: that of the thread number, if given. */
static uint32_t image_of(const struct tw_sql *sql, int argc, sqlite3_value **argv)
{
	if (argc > 1 && sqlite3_value_type(argv[1]) == SQLITE_INTEGER)
		return tw_names_image(sql->names, (uint32_t)sqlite3_value_int64(argv[1]));
	return tw_recording_n_threads(sql->recording) ? tw_names_image(sql->names, tw_recording_thread(sql->recording, 0)->serial) : 0;
}

/* Names code. 0: it is no address. */
static int code_of(sqlite3_context *context, int argc, sqlite3_value **argv, struct tw_code_name *name)
{
	const struct tw_sql *sql = sqlite3_user_data(context);
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER)
		return 0;
	tw_names_code(sql->names, image_of(sql, argc, argv), (uint64_t)sqlite3_value_int64(argv[0]), name);
	return 1;
}

static void symbol(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct tw_code_name name;
	if (code_of(context, argc, argv, &name))
		sqlite3_result_text(context, name.function, -1, SQLITE_TRANSIENT);
}

static void line(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct tw_code_name name;
	if (!code_of(context, argc, argv, &name) || !name.line)
		return;
	char *text = sqlite3_mprintf("%s:%u", tw_base_name(name.file), name.line);
	sqlite3_result_text(context, text, -1, sqlite3_free);
}

static void object(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct tw_sql *sql = sqlite3_user_data(context);
	struct tw_data_name name;
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER)
		return;
	tw_names_data(sql->names, image_of(sql, argc, argv), (uint64_t)sqlite3_value_int64(argv[0]), &name);
	if (name.object[0])
		sqlite3_result_text(context, name.object, -1, SQLITE_TRANSIENT);
}

static void member(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct tw_sql *sql = sqlite3_user_data(context);
	char name[400];
	if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER &&
	    tw_names_variable(sql->names, image_of(sql, argc, argv), (uint64_t)sqlite3_value_int64(argv[0]), name, sizeof name))
		sqlite3_result_text(context, name, -1, SQLITE_TRANSIENT);
}

int tw_functions_install(sqlite3 *handle, struct tw_sql *sql)
{
	static const struct {
		const char *name;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {{"symbol", symbol}, {"line", line}, {"object", object}, {"member", member}};
	int error = SQLITE_OK;
	for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
		for (int n_args = 1; n_args <= 2 && !error; n_args++)
			error = sqlite3_create_function(handle, functions[i].name, n_args, SQLITE_UTF8 | SQLITE_DETERMINISTIC, sql,
			                                functions[i].function, NULL, NULL);
	return error;
}

#include "sql/shell.h"

#include <ctype.h>
#include <editline/readline.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what went wrong ---- */

static void complain(struct tw_shell *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(struct tw_shell *s, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fflush(stdout);
	fputs("trackway sql: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	s->failed = 1;
}

/* Prints the line of the statement to which SQLite's message refers, and the position. */
static void point_at(const char *text, int offset)
{
	const char *begin = text + offset;
	while (begin > text && begin[-1] != '\n')
		begin--;
	fprintf(stderr, "  %.*s\n  %*s^\n", (int)strcspn(begin, "\n"), begin, (int)(text + offset - begin), "");
}

static void complain_of_sql(struct tw_shell *s, const char *text)
{
	sqlite3 *handle = tw_database_handle(s->database);
	int offset = sqlite3_error_offset(handle);
	complain(s, "%s", sqlite3_errmsg(handle));
	if (text && offset >= 0)
		point_at(text, offset);
}

/* ---- statements ---- */

static void run_statement(struct tw_shell *s, sqlite3_stmt *statement)
{
	int result = tw_sql_print(stdout, statement, s->form);
	if (result != SQLITE_DONE)
		complain_of_sql(s, NULL);
	sqlite3_finalize(statement);
	if (s->explain) {
		fflush(stdout);
		fprintf(stderr, "chunks: %llu read, %llu skipped", (unsigned long long)s->sql->chunks_read,
		        (unsigned long long)s->sql->chunks_passed_over);
		if (s->sql->chunks_indexed)
			fprintf(stderr, "; %llu read for the index, once", (unsigned long long)s->sql->chunks_indexed);
		fputc('\n', stderr);
	}
}

/* All statements of the text. */
static void run_sql(struct tw_shell *s, const char *text)
{
	while (*text && (!s->failed || s->interactive)) {
		sqlite3_stmt *statement = NULL;
		const char *tail = "";
		if (tw_database_prepare(s->database, text, &statement, &tail) != SQLITE_OK) {
			complain_of_sql(s, text);
			return;
		}
		if (statement)
			run_statement(s, statement);
		text = tail;
	}
}

/* ---- commands ---- */

static void do_tables(struct tw_shell *s, const char *argument)
{
	(void)s;
	(void)argument;
	for (unsigned i = 0; tw_sql_tables[i]; i++)
		printf("%-12s %s\n", tw_sql_tables[i]->name, tw_sql_tables[i]->what);
}

static void do_schema(struct tw_shell *s, const char *argument)
{
	int found = 0;
	for (unsigned i = 0; tw_sql_tables[i]; i++) {
		if (*argument && strcmp(argument, tw_sql_tables[i]->name))
			continue;
		char *schema = tw_sql_schema(tw_sql_tables[i]);
		printf("%s;\n", schema ? schema : "");
		free(schema);
		found = 1;
	}
	if (!found)
		complain(s, ".schema: there is no table '%s'", argument);
}

/* Individual references, blocks and calls stay in the recording: an ordinary table of them would be a hundred times as large. */
static int is_exported(const struct tw_sql_table *t)
{
	return strcmp(t->name, "refs") && strcmp(t->name, "block_runs") && strcmp(t->name, "calls");
}

static void export_all(struct tw_shell *s)
{
	sqlite3 *handle = tw_database_handle(s->database);
	int error = SQLITE_OK;
	for (unsigned i = 0; tw_sql_tables[i] && !error; i++) {
		const char *name = tw_sql_tables[i]->name;
		char *text =
		    is_exported(tw_sql_tables[i]) ? sqlite3_mprintf("CREATE TABLE export.%s AS SELECT * FROM main.%s", name, name) : NULL;
		error = text ? sqlite3_exec(handle, text, NULL, NULL, NULL) : SQLITE_OK;
		sqlite3_free(text);
	}
	if (error)
		complain_of_sql(s, NULL);
}

static void do_export(struct tw_shell *s, const char *argument)
{
	sqlite3 *handle = tw_database_handle(s->database);
	if (!*argument) {
		complain(s, ".export wants a file");
		return;
	}
	if (!access(argument, F_OK)) {
		complain(s, ".export: %s is there already", argument);
		return;
	}
	char *attach = sqlite3_mprintf("ATTACH %Q AS export", argument);
	int error = attach ? sqlite3_exec(handle, attach, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(attach);
	if (error) {
		complain(s, ".export: %s: %s", argument, sqlite3_errmsg(handle));
		return;
	}
	int failed_before = s->failed;
	s->failed = 0;
	export_all(s);
	sqlite3_exec(handle, "DETACH export", NULL, NULL, NULL);
	if (s->failed)
		unlink(argument);
	s->failed |= failed_before;
}

static void do_mode(struct tw_shell *s, const char *argument)
{
	static const char *const forms[] = {[TW_SQL_TABLE] = "table", [TW_SQL_CSV] = "csv", [TW_SQL_JSON] = "json"};
	for (int i = 0; i < 3; i++) {
		if (!strcmp(argument, forms[i])) {
			s->form = (enum tw_sql_form)i;
			return;
		}
	}
	complain(s, ".mode wants table, csv or json");
}

static void do_explain(struct tw_shell *s, const char *argument)
{
	if (strcmp(argument, "on") && strcmp(argument, "off"))
		complain(s, ".explain wants on or off");
	else
		s->explain = !strcmp(argument, "on");
}

static void do_quit(struct tw_shell *s, const char *argument)
{
	(void)argument;
	s->quit = 1;
}

static void do_help(struct tw_shell *s, const char *argument);

static const struct {
	const char *name, *argument, *what;
	void (*run)(struct tw_shell *s, const char *argument);
} commands[] = {
    {".tables", "", "the tables", do_tables},
    {".schema", "[TABLE]", "their columns", do_schema},
    {".mode", "table|csv|json", "how results are printed", do_mode},
    {".explain", "on|off", "say how many chunks each statement read", do_explain},
    {".export", "FILE", "all tables but refs, block_runs and calls as a database of their own", do_export},
    {".help", "", "this text", do_help},
    {".quit", "", "end", do_quit},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void do_help(struct tw_shell *s, const char *argument)
{
	(void)s;
	(void)argument;
	for (unsigned i = 0; i < N_COMMANDS; i++)
		printf("%-8s %-15s %s\n", commands[i].name, commands[i].argument, commands[i].what);
	printf("A statement ends with a semicolon. docs/sql.md has examples.\n");
}

static void run_command(struct tw_shell *s, const char *line)
{
	size_t n = strcspn(line, " \t\n");
	const char *argument = line + n + strspn(line + n, " \t\n");
	size_t length = strlen(argument);
	while (length && isspace((unsigned char)argument[length - 1]))
		length--;
	char *copy = strndup(argument, length);
	for (unsigned i = 0; copy && i < N_COMMANDS; i++) {
		if (strlen(commands[i].name) != n || strncmp(line, commands[i].name, n))
			continue;
		commands[i].run(s, copy);
		free(copy);
		return;
	}
	free(copy);
	complain(s, "there is no command '%.*s'; .help lists the commands", (int)n, line);
}

/* ---- texts ---- */

int tw_shell_text(struct tw_shell *s, const char *text)
{
	text += strspn(text, " \t\r\n");
	if (*text == '.')
		run_command(s, text);
	else
		run_sql(s, text);
	return s->failed;
}

/* Takes one more line and executes complete statements. Returns the rest, NULL if none. */
static char *take_line(struct tw_shell *s, char *open, const char *line)
{
	if (!open && !line[strspn(line, " \t\r\n")])
		return NULL;
	char *all = NULL;
	if (asprintf(&all, "%s%s%s", open ? open : "", open ? "\n" : "", line) < 0)
		all = NULL;
	free(open);
	if (!all) {
		complain(s, "%s", strerror(ENOMEM));
		return NULL;
	}
	if (*all != '.' && !sqlite3_complete(all))
		return all;
	tw_shell_text(s, all);
	fflush(stdout);
	free(all);
	return NULL;
}

static int at_prompt(struct tw_shell *s)
{
	char history[4096] = "", *open = NULL, *line;
	const char *home = getenv("HOME");
	if (home && snprintf(history, sizeof history, "%s/.trackway_sql_history", home) >= (int)sizeof history)
		history[0] = 0;
	s->interactive = 1;
	using_history();
	if (history[0])
		read_history(history);
	printf("SQL on this recording. .tables shows what there is, .help the commands.\n");
	while (!s->quit && (line = readline(open ? "   ...> " : "trackway> "))) {
		if (*line)
			add_history(line);
		open = take_line(s, open, line);
		free(line);
	}
	free(open);
	if (history[0])
		write_history(history);
	return 0;
}

int tw_shell_stream(struct tw_shell *s, FILE *f)
{
	char *open = NULL, *line = NULL;
	size_t room = 0;
	if (isatty(fileno(f)) && isatty(STDOUT_FILENO))
		return at_prompt(s);
	while (!s->quit && !s->failed && getline(&line, &room, f) >= 0)
		open = take_line(s, open, line);
	if (open && !s->failed)
		tw_shell_text(s, open);
	free(open);
	free(line);
	return s->failed;
}

/*
 * Statements and commands from the command line, a file, or a prompt.
 *
 * A statement ends with a semicolon, or with the text. A line that begins with a dot is a command: .help lists them.
 */
#ifndef TW_SQL_SHELL_H
#define TW_SQL_SHELL_H

#include "sql/database.h"
#include "sql/output.h"

struct tw_shell {
	struct tw_database *database;
	struct tw_sql *sql;
	enum tw_sql_form form;
	int explain;     /* say behind each statement how many chunks were read */
	int interactive; /* an error ends nothing */
	int failed;      /* a statement or command failed */
	int quit;
};

/* Executes the text; returns 0, or 1 if something failed. */
int tw_shell_text(struct tw_shell *s, const char *text);

/* Reads statements from a stream; if it is a terminal, at a prompt with a history. Returns as above. */
int tw_shell_stream(struct tw_shell *s, FILE *f);

#endif

/* trackway sql: questions to a recording, in SQL. */
#include "cli/budget.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "recording/recording.h"
#include "sql/shell.h"

#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

static const char help[] = "Usage: trackway sql [OPTION]... DIR [STATEMENT]...\n\n"
                           "Queries a recording with SQL (the dialect of SQLite). Without a statement, it\n"
                           "reads statements at a prompt or from standard input.\n\n"
                           "  --table    print results as a table with a header (default)\n"
                           "  --csv      print comma-separated values with a header\n"
                           "  --json     print an array of objects\n"
                           "  --explain  after each statement, say how many chunks it read\n"
                           "  -j N       replay with N threads where rows need no order (default: one per\n"
                           "             processor)\n"
                           "  --help     print this help\n\n"
                           "Tables: refs, block_runs, calls, syscalls, signals, windows (one row per\n"
                           "occurrence); blocks, functions, branches (sums); threads, processes, modules.\n"
                           "The command .schema shows their columns. Functions: symbol(pc), line(pc) and\n"
                           "object(addr).\n\n"
                           "For example, which functions write to a certain page, and how often:\n\n"
                           "  trackway sql gzip.tw 'select symbol(pc), count(*) from refs where type = \"W\"\n"
                           "    and addr between 0x55a000 and 0x55afff group by 1 order by 2 desc'\n\n"
                           "Exit status: 1 if a statement fails, or if parts of the recording are damaged\n"
                           "and were left out.\n";

struct command {
	const char *dir;
	char **statements;
	enum tw_sql_form form;
	int explain;
	uint64_t jobs;
};

/* Returns -1 to go on, or an exit status. */
static int parse(struct command *c, int argc, char **argv)
{
	static const struct option options[] = {
	    {"table", no_argument, NULL, 'T'},   {"csv", no_argument, NULL, 'C'},  {"json", no_argument, NULL, 'J'},
	    {"explain", no_argument, NULL, 'E'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0},
	};
	static const struct tw_option_set set = {"sql", ":j:h", options};
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		switch (option) {
		case 'T':
			c->form = TW_SQL_TABLE;
			break;
		case 'C':
			c->form = TW_SQL_CSV;
			break;
		case 'J':
			c->form = TW_SQL_JSON;
			break;
		case 'E':
			c->explain = 1;
			break;
		case 'j':
			if (!tw_parse_number(optarg, TW_MAX_JOBS, &c->jobs) || !c->jobs)
				return tw_usage_error("sql", "-j wants a number from 1 to %d, not '%s'", TW_MAX_JOBS, optarg);
			break;
		case 'h':
			return fputs(help, stdout) < 0;
		default:
			return tw_wrong_option(&set, option, argv);
		}
	}
	if (argc == optind)
		return tw_usage_error("sql", "a recording is required");
	c->dir = argv[optind];
	c->statements = argv + optind + 1;
	return -1;
}

static int ask(const struct command *c, struct tw_shell *shell)
{
	if (!*c->statements)
		return tw_shell_stream(shell, stdin);
	for (char **s = c->statements; *s && !shell->failed; s++)
		tw_shell_text(shell, *s);
	return shell->failed;
}

/* What takes long is told to who waits for it. */
static void tell_indexing(size_t chunks)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "trackway sql: %zu chunks are read for the index, once\n", chunks);
}

static int run(const struct command *c, struct tw_recording *r, struct tw_names *names)
{
	struct tw_damage damage = {.command = "sql", .recording = r};
	struct tw_sql sql = {.recording = r,
	                     .names = names,
	                     .jobs = (unsigned)c->jobs,
	                     .damage = tw_damage_report,
	                     .context = &damage,
	                     .indexing = tell_indexing};
	struct tw_shell shell = {.sql = &sql, .form = c->form, .explain = c->explain};
	size_t problems = tw_problems_report("sql", r);
	int status = 1;
	if (tw_database_open(&sql, &shell.database))
		tw_recording_error("sql", c->dir, TW_ERR_MEMORY);
	else
		status = ask(c, &shell) || problems || damage.chunks;
	tw_database_close(shell.database);
	return status;
}

int tw_cmd_sql(int argc, char **argv)
{
	struct command c = {.jobs = tw_default_jobs()};
	struct tw_recording *r;
	int status = parse(&c, argc, argv);
	if (status >= 0)
		return status;
	int error = tw_recording_open(c.dir, &r);
	if (error)
		return tw_recording_error("sql", c.dir, error);
	tw_budget_tell_part("sql", r);
	struct tw_names *names = tw_names_open(r, NULL);
	status = names ? run(&c, r, names) : tw_recording_error("sql", c.dir, TW_ERR_MEMORY);
	tw_names_close(names);
	tw_recording_close(r);
	return status;
}

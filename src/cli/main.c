/* `trackway`: picks the subcommand. */
#include "base/heap.h"
#include "cli/cli.h"
#include "cli/recover.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
};

static const struct command commands[] = {
    {"record", tw_cmd_record, "run a program and record every block and memory reference"},
    {"info", tw_cmd_info, "show a summary of a recording"},
    {"stop", tw_cmd_stop, "stop recording a process and let it continue natively"},
    {"keep", tw_cmd_keep, "save what a flight recorder (record --ring) holds"},
    {"report", tw_cmd_report, "show which functions, lines and blocks cost most"},
    {"analyze", tw_cmd_analyze, "run an analyzer, or a plug-in of your own"},
    {"import", tw_cmd_import, "convert another tool's trace into a recording"},
    {"cc", tw_cmd_cc, "compile a program so that it records itself, at lower cost"},
    {"blocks", tw_cmd_blocks, "count basic blocks, their endings and edges; export to other tools"},
    {"learn", tw_cmd_learn, "show what has been learned about a program over many runs"},
    {"coverage", tw_cmd_coverage, "show how much of a recording's code has been learned"},
    {"sql", tw_cmd_sql, "query a recording with SQL"},
    {"top", tw_cmd_top, "browse what executes most on the terminal, even while recording"},
    {"serve", tw_cmd_serve, "show a recording in your browser"},
    {"paths", tw_cmd_paths, "show the most frequently executed paths"},
    {"dump", tw_cmd_dump, "print references, blocks, code or streams as text"},
    {"check", tw_cmd_check, "validate a recording"},
    {"kept", tw_cmd_kept, "list or remove translations cached for later recordings"},
    {"pack", tw_cmd_pack, "recompress a recording to a smaller size"},
    {"bundle", tw_cmd_bundle, "pack a recording into one file to pass on"},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static int usage(FILE *f)
{
	fprintf(f, "Usage: trackway COMMAND [OPTION]... [ARGUMENT]...\n\n"
	           "Records the full execution profile of programs, and replays and analyzes it.\n\nCommands:\n");
	for (int i = 0; i < N_COMMANDS; i++)
		fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].what);
	fprintf(f, "\nFor example:\n\n  trackway record -o gzip.tw gzip -9k file\n  trackway report gzip.tw\n");
	fprintf(f, "\ntrackway COMMAND --help, or trackway help COMMAND, describes a command.\n"
	           "trackway --version prints the version.\n");
	return f == stdout ? 0 : TW_EXIT_USAGE;
}

static const struct command *find(const char *name)
{
	for (int i = 0; i < N_COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	fprintf(stderr, "trackway: there is no %s '%s'; the commands are", name[0] == '-' ? "option" : "command", name);
	for (int i = 0; i < N_COMMANDS; i++)
		fprintf(stderr, "%s %s", i ? "," : "", commands[i].name);
	fprintf(stderr, "\n");
	return NULL;
}

static int help(const char *name)
{
	const struct command *c = find(name);
	char *argv[] = {(char *)name, "--help", NULL};
	return c ? c->run(2, argv) : TW_EXIT_USAGE;
}

static int run(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr);
	if (!strcmp(argv[1], "--version"))
		return printf("trackway %s\n", TW_VERSION) < 0;
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return usage(stdout);
	if (!strcmp(argv[1], "help"))
		return argc > 2 ? help(argv[2]) : usage(stdout);
	const struct command *c = find(argv[1]);
	if (c && c->run != tw_cmd_record && c->run != tw_cmd_cc) {
		/* A write error says the same, more clearly. The recorded program gets the signal as usual. */
		signal(SIGXFSZ, SIG_IGN);
		tw_heap_to_answer();
		tw_recover_arguments(argc - 1, argv + 1);
	}
	return c ? c->run(argc - 1, argv + 1) : TW_EXIT_USAGE;
}

/* The exit status, after all output. A reader that reads only the beginning of our output is not an error. */
static int end(int status)
{
	errno = 0;
	int wrong = fflush(stdout) || ferror(stdout);
	if (!wrong || errno == EPIPE)
		return status;
	fprintf(stderr, "trackway: standard output: %s\n", errno ? strerror(errno) : "not all could be written");
	return status ? status : 1;
}

int main(int argc, char **argv)
{
	return end(run(argc, argv));
}

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
    {"info", tw_cmd_info, "what a recording holds, in figures"},
    {"stop", tw_cmd_stop, "let a recorded process go on natively"},
    {"keep", tw_cmd_keep, "store what a flight recorder (record --ring) has"},
    {"report", tw_cmd_report, "the functions and blocks that do most"},
    {"analyze", tw_cmd_analyze, "have an analyzer, or a plug-in of yours, answer from it"},
    {"import", tw_cmd_import, "make a recording of another tool's trace"},
    {"cc", tw_cmd_cc, "compile a program so that it records itself, at less cost"},
    {"blocks", tw_cmd_blocks, "static and dynamic basic blocks, their endings and edges"},
    {"learn", tw_cmd_learn, "what has been learned of a program, over many runs"},
    {"coverage", tw_cmd_coverage, "how much has been learned of what a recording has"},
    {"sql", tw_cmd_sql, "ask a recording in SQL"},
    {"top", tw_cmd_top, "what executes most, on the terminal, also while it is being recorded"},
    {"serve", tw_cmd_serve, "show a recording to your browser, page by page"},
    {"paths", tw_cmd_paths, "the paths through the code that were taken most"},
    {"dump", tw_cmd_dump, "references, blocks, code or streams as text"},
    {"check", tw_cmd_check, "validate a recording"},
    {"kept", tw_cmd_kept, "list or remove translations that are kept for later recordings"},
    {"pack", tw_cmd_pack, "make a recording smaller, or quicker to read again"},
    {"bundle", tw_cmd_bundle, "put a recording into one file to hand on"},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static int usage(FILE *f)
{
	fprintf(f, "Usage: trackway COMMAND [OPTION...] [ARGUMENT...]\n\n"
	           "Records a detailed execution profile of a program, stores it, replays it.\n\nCommands:\n");
	for (int i = 0; i < N_COMMANDS; i++)
		fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].what);
	fprintf(f, "\nFor example:\n\n  trackway record -o gzip.tw gzip -9k file\n  trackway report gzip.tw\n");
	fprintf(f, "\ntrackway help COMMAND, or trackway COMMAND --help, tells more about one.\n"
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
		/* A write error says the same, and is said better. The program that is recorded gets the signal as it came. */
		signal(SIGXFSZ, SIG_IGN);
		tw_heap_to_answer();
		tw_recover_arguments(argc - 1, argv + 1);
	}
	return c ? c->run(argc - 1, argv + 1) : TW_EXIT_USAGE;
}

/* The exit status, once all is written. Who reads only the beginning of our output means no harm. */
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

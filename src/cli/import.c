/* trackway import: a recording out of another tool's trace. */
#include "cli/cli.h"
#include "cli/options.h"
#include "import/lackey.h"
#include "recording/recording.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "Usage: trackway import lackey [OPTION]... TRACE\n\n"
                           "Converts the output of `valgrind --tool=lackey --trace-mem=yes` into a recording\n"
                           "that all other commands can read. TRACE is a file, plain or compressed (.gz,\n"
                           ".xz, .zst), or - for standard input.\n\n"
                           "  -o DIR   store the recording in DIR; the default is the name of the trace\n"
                           "           without directories and extension, plus .tw. An older recording is\n"
                           "           renamed to DIR.old\n"
                           "  -q       do not print a summary\n"
                           "  --help   print this help\n\n"
                           "For example:\n\n"
                           "  valgrind --tool=lackey --trace-mem=yes --log-file=ls.trace ls\n"
                           "  trackway import lackey ls.trace\n"
                           "  trackway report ls.tw\n\n"
                           "A trace has only addresses: no code, no modules, no threads, no system calls.\n";

struct import {
	const char *input, *name; /* name: for messages */
	char dir[PATH_MAX];
	char program[NAME_MAX + 1];
	int quiet;
};

/* The trace's name without directories, a compressor's suffix, and one more extension. */
static void name_program(struct import *im)
{
	static const char *const compressed[] = {".gz", ".xz", ".zst"};
	const char *base = strrchr(im->input, '/');
	snprintf(im->program, sizeof im->program - 8, "%s", strcmp(im->input, "-") ? base ? base + 1 : im->input : "lackey");
	char *dot = strrchr(im->program, '.');
	for (size_t i = 0; dot && i < sizeof compressed / sizeof compressed[0]; i++) {
		if (strcmp(dot, compressed[i]))
			continue;
		*dot = 0;
		dot = strrchr(im->program, '.');
		break;
	}
	if (dot && dot > im->program)
		*dot = 0;
}

static int say(const struct import *im, const struct tw_import_facts *found, const struct tw_trace_facts *facts)
{
	if (!found->insns) {
		fprintf(stderr, "trackway import: %s: %s\n", im->name, tw_no_insns);
		return 1;
	}
	tw_trace_report("import", im->name, facts);
	if (found->orphans)
		fprintf(stderr, "trackway import: %s: left out %" PRIu64 " references without an instruction, or beyond 256 of one\n",
		        im->name, found->orphans);
	if (!im->quiet)
		fprintf(stderr, "trackway: %" PRIu64 " instructions imported into %s\n", found->insns, im->dir);
	return 0;
}

static int run(const struct import *im)
{
	struct tw_input *in;
	struct tw_import_facts found = {0};
	int error = tw_input_open(im->input, &in);
	if (error)
		return tw_recording_error("import", im->name, error);
	struct tw_trace *t = tw_trace_new(in, 0);
	error = t ? tw_import_lackey(t, im->program, im->dir, &found) : tw_fail(TW_ERR_MEMORY, "trace");
	int status = error ? tw_recording_error("import", found.unwritten ? im->dir : im->name, error) : say(im, &found, tw_trace_facts(t));
	tw_trace_free(t);
	tw_input_close(in);
	return status;
}

/* Returns -1 to go on, or an exit status. */
static int parse(struct import *im, int argc, char **argv)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	static const struct tw_option_set set = {"import", ":o:qh", options};
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		switch (option) {
		case 'o':
			if (!tw_parse_directory(optarg, im->dir, sizeof im->dir))
				return tw_usage_error("import", "-o wants the name of a directory (a recording is a directory), not '%s'",
				                      optarg);
			break;
		case 'q':
			im->quiet = 1;
			break;
		case 'h':
			return fputs(help, stdout) < 0;
		default:
			return tw_wrong_option(&set, option, argv);
		}
	}
	if (argc - optind < 1)
		return tw_usage_error("import", "the kind of trace is missing: only lackey is supported");
	if (strcmp(argv[optind], "lackey"))
		return tw_usage_error("import", "there is no kind of trace '%s', only lackey", argv[optind]);
	if (argc - optind != 2)
		return tw_usage_error("import", "exactly one trace is required, or - for standard input");
	im->input = argv[optind + 1];
	im->name = strcmp(im->input, "-") ? im->input : "standard input";
	return -1;
}

int tw_cmd_import(int argc, char **argv)
{
	struct import im = {0};
	int status = parse(&im, argc, argv);
	if (status >= 0)
		return status;
	name_program(&im);
	if (!im.dir[0])
		snprintf(im.dir, sizeof im.dir, "%s.tw", im.program);
	return run(&im);
}

/* trackway top: a recording on the terminal. */
#include "cli/cli.h"
#include "cli/options.h"
#include "recording/recording.h"
#include "top/screen.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] = "Usage: trackway top [OPTION]... DIR\n\n"
                           "Lists on the terminal which functions, blocks and source lines of a recording\n"
                           "executed most, and shows a function's source and instructions. If the recording\n"
                           "is still being written, the display is refreshed.\n\n"
                           "  -j N    replay with N threads (default: one per processor)\n"
                           "  --help  print this help\n\n"
                           "Keys: f functions, b blocks, l lines, Enter code, Esc back, / find, s sort,\n"
                           "? all keys, q quit.\n";

static int show(const char *dir, uint64_t jobs)
{
	struct tw_recording *r;
	int error = tw_recording_open(dir, &r);
	if (error)
		return tw_recording_error("top", dir, error);
	error = tw_recording_replayable(r);
	tw_recording_close(r);
	if (error)
		return tw_recording_error("top", dir, error);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !getenv("TERM")) {
		fprintf(stderr, "trackway top: not a terminal; trackway report prints the same tables\n");
		return 1;
	}
	struct tw_follower *follower = tw_follower_start(dir, (unsigned)jobs);
	if (!follower)
		return tw_recording_error("top", dir, tw_fail(TW_ERR_MEMORY, "thread"));
	error = tw_screen_run(follower, dir);
	tw_follower_stop(follower);
	return error ? tw_recording_error("top", dir, error) : 0;
}

int tw_cmd_top(int argc, char **argv)
{
	static const struct option options[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
	static const struct tw_option_set set = {"top", ":j:h", options};
	uint64_t jobs = tw_default_jobs();
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		if (option == 'h')
			return fputs(help, stdout) < 0;
		if (option != 'j')
			return tw_wrong_option(&set, option, argv);
		if (!tw_parse_number(optarg, TW_MAX_JOBS, &jobs) || !jobs)
			return tw_usage_error("top", "-j wants a number from 1 to %d, not '%s'", TW_MAX_JOBS, optarg);
	}
	if (argc - optind != 1)
		return tw_usage_error("top", "exactly one recording is required");
	return show(argv[optind], jobs);
}

/* trackway cc: put in front of a compiler, makes it produce instrumented code. */
#include "cc/driver.h"
#include "cc/wrap.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "names/places.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] = "Usage: trackway cc [OPTION]... COMPILER [ARGUMENT]...\n"
                           "       trackway cc [OPTION]... --wrap DIRECTORY\n\n"
                           "Runs a compiler and instruments the code it compiles: each basic block stores\n"
                           "that it ran, and the register values needed to reconstruct its memory\n"
                           "references. `trackway record PROGRAM` detects an instrumented program, runs it\n"
                           "natively, and records the instrumented code. Without a recorder the program runs\n"
                           "normally.\n\n"
                           "Options:\n"
                           "      --only PATTERN     instrument only functions or source files whose name\n"
                           "                         matches (shell pattern; can be repeated)\n"
                           "      --not PATTERN      instrument everything except these\n"
                           "      --refs none        record control flow only; default `all`: memory\n"
                           "                         references, too\n"
                           "      --switchable       compile each function twice, plain and instrumented:\n"
                           "                         the plain one runs while nothing is recorded, for\n"
                           "                         windows, bursts and budgets of `trackway record`\n"
                           "      --asm              instrument hand-written assembly (.s, .S), too; it must\n"
                           "                         refer to its own code by labels only\n"
                           "      --large            for programs of more than 65,520 blocks (about 50,000\n"
                           "                         lines or more): compile all files with it\n"
                           "      --full WAY         how code detects a full buffer: `check` (default) tests\n"
                           "                         at the start of functions and loops; `guard` leaves\n"
                           "                         most of that to a page that cannot be written and a\n"
                           "                         SIGSEGV handler\n"
                           "      --batch ROUTINE    link an analyzer of <trackway/analyzer.h>, in C or\n"
                           "                         compiled (.o), into the program; it gets blocks and\n"
                           "                         references batch by batch, and nothing is stored\n"
                           "      --wrap DIRECTORY   create a directory with commands cc, gcc, g++, clang,\n"
                           "                         gfortran... that run trackway cc: put it first in PATH\n"
                           "      --hide DIRECTORY   remove DIRECTORY from the PATH that the compiler sees;\n"
                           "                         used by the commands of --wrap\n"
                           "  -v, --verbose          say what was done with each source\n"
                           "      --help             print this help\n\n"
                           "For example:\n\n"
                           "  make CC='trackway cc gcc' CXX='trackway cc g++'\n"
                           "  trackway record -o prog.tw ./prog && trackway report prog.tw\n\n"
                           "Code that cannot be instrumented is left as it is, and named on standard error\n"
                           "with its line. The exit status is the compiler's; 127: it cannot be run.\n";

enum { MOST_PATTERNS = 256 };

struct cc {
	struct tw_cc_wishes wishes;
	const char *only[MOST_PATTERNS + 1], *not_[MOST_PATTERNS + 1];
	size_t n_only, n_not;
	const char *wrap;
};

static int add_pattern(const char **patterns, size_t *n, const char *pattern)
{
	if (*n == MOST_PATTERNS)
		return tw_usage_error("cc", "more than %d patterns", MOST_PATTERNS);
	patterns[(*n)++] = pattern;
	return 0;
}

static int set_option(struct cc *c, int option)
{
	switch (option) {
	case 'O':
		return add_pattern(c->only, &c->n_only, optarg);
	case 'N':
		return add_pattern(c->not_, &c->n_not, optarg);
	case 'R':
		c->wishes.values = !strcmp(optarg, "all");
		return c->wishes.values || !strcmp(optarg, "none") ? 0 : tw_usage_error("cc", "--refs wants all or none, not '%s'", optarg);
	case 'A':
		c->wishes.assembly = 1;
		return 0;
	case 'B':
		c->wishes.batch = optarg;
		return access(optarg, R_OK) ? tw_usage_error("cc", "--batch: %s: %s", optarg, strerror(errno)) : 0;
	case 'S':
		c->wishes.switchable = 1;
		return 0;
	case 'F':
		c->wishes.guard = !strcmp(optarg, "guard");
		return c->wishes.guard || !strcmp(optarg, "check") ? 0
		                                                   : tw_usage_error("cc", "--full wants check or guard, not '%s'", optarg);
	case 'L':
		c->wishes.large = 1;
		return 0;
	case 'H':
		tw_cc_hide(optarg);
		return 0;
	case 'W':
		c->wrap = optarg;
		return 0;
	case 'v':
		c->wishes.verbose = 1;
		return 0;
	default:
		return TW_EXIT_USAGE;
	}
}

/* The options given but --wrap are those of the commands. */
static int wrap(const struct cc *c, int argc, char **argv)
{
	char *options[64];
	size_t n = 0;
	for (int k = 1; k < argc && n < 64; k++) {
		if (!strncmp(argv[k], "--wrap", 6))
			k += argv[k][6] != '=';
		else
			options[n++] = argv[k];
	}
	const int wrong = tw_cc_wrap(c->wrap, options, n);
	if (wrong)
		fprintf(stderr, "trackway cc: %s: %s\n", c->wrap, strerror(errno));
	return wrong != 0;
}

/* The options before the compiler, at argv[optind]. 0, TW_EXIT_USAGE, or -1: the help was printed. */
static int take_options(struct cc *c, int argc, char **argv)
{
	static const struct option options[] = {
	    {"only", required_argument, NULL, 'O'},
	    {"not", required_argument, NULL, 'N'},
	    {"refs", required_argument, NULL, 'R'},
	    {"full", required_argument, NULL, 'F'},
	    {"large", no_argument, NULL, 'L'},
	    {"asm", no_argument, NULL, 'A'},
	    {"hide", required_argument, NULL, 'H'},
	    {"batch", required_argument, NULL, 'B'},
	    {"switchable", no_argument, NULL, 'S'},
	    {"wrap", required_argument, NULL, 'W'},
	    {"verbose", no_argument, NULL, 'v'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	static const struct tw_option_set set = {"cc", "+:vh", options};
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		if (option == 'h')
			return fputs(help, stdout) < 0 ? TW_EXIT_USAGE : -1;
		if (option == '?' || option == ':')
			tw_wrong_option(&set, option, argv);
		int status = set_option(c, option);
		if (status)
			return status;
	}
	return 0;
}

/* If both the compiler's name and a build system's launcher contain it, it comes twice. */
static int is_named_again(int argc, char **argv)
{
	return optind + 1 < argc && !strcmp(tw_base_name(argv[optind]), "trackway") && !strcmp(argv[optind + 1], "cc");
}

int tw_cmd_cc(int argc, char **argv)
{
	static struct cc c = {.wishes = {.values = 1}};
	int status = take_options(&c, argc, argv);
	while (!status && is_named_again(argc, argv)) {
		argc -= optind + 1;
		argv += optind + 1;
		optind = 0; /* getopt begins anew */
		status = take_options(&c, argc, argv);
	}
	if (status)
		return status < 0 ? 0 : status;
	c.wishes.only = c.only;
	c.wishes.not_ = c.not_;
	if (c.wrap)
		return optind < argc ? tw_usage_error("cc", "--wrap makes commands, and runs none") : wrap(&c, argc, argv);
	if (optind == argc)
		return tw_usage_error("cc", "there is no compiler to run");
	return tw_cc_drive(&c.wishes, argc - optind, argv + optind);
}

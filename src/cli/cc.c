/* trackway cc: a compiler in front of which it stands makes instrumented code. */
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

static const char help[] = "Usage: trackway cc [OPTION...] COMPILER [ARGUMENT...]\n"
                           "       trackway cc --wrap DIRECTORY\n"
                           "\n"
                           "Runs a compiler, and instruments what it compiles: each basic block then stores\n"
                           "that it ran, and the register values that its memory references need. `trackway\n"
                           "record PROGRAM` notices an instrumented program, runs it natively, and makes the\n"
                           "recording that it makes of any other, of the instrumented code alone. Without it\n"
                           "the program runs as it would otherwise.\n"
                           "\n"
                           "Options:\n"
                           "      --only PATTERN     instrument only functions, or source files, whose name\n"
                           "                         matches (as shells match; may be repeated)\n"
                           "      --not PATTERN      instrument all but these\n"
                           "      --refs none        record control flow only; `all`, the default: every\n"
                           "                         memory reference too\n"
                           "      --asm              instrument hand-written assembly (.s, .S) too; it must\n"
                           "                         come to its own code by labels only\n"
                           "      --full WAY         how code finds out that a buffer is full: `check`, the\n"
                           "                         default, tests for it where functions and loops begin;\n"
                           "                         `guard` leaves most of that to memory that cannot be\n"
                           "                         written, and a handler of SIGSEGV\n"
                           "      --large            for programs of more than 65,520 blocks (from 50,000\n"
                           "                         lines or so on): all their files are to be compiled so\n"
                           "      --batch ROUTINE    what is linked hands its blocks and references to this\n"
                           "                         routine, within the program, batch by batch; nothing is\n"
                           "                         stored. An analyzer of <trackway/analyzer.h>, in C, or\n"
                           "                         compiled (.o)\n"
                           "      --switchable       two versions of each function, plain and instrumented:\n"
                           "                         the plain one runs while nothing is recorded, for\n"
                           "                         windows and bursts of `trackway record` (gcc)\n"
                           "      --wrap DIRECTORY   make a directory of commands named cc, gcc, g++, clang,\n"
                           "                         gfortran... that do this, for builds that name their\n"
                           "                         compiler: put it in front of PATH\n"
                           "      --hide DIRECTORY   what the compiler itself looks for in PATH it does not\n"
                           "                         find there; of use to the commands of --wrap\n"
                           "  -v, --verbose          say what became of each source\n"
                           "      --help             this text\n"
                           "\n"
                           "For example:\n"
                           "\n"
                           "  make CC='trackway cc gcc' CXX='trackway cc g++'\n"
                           "  trackway record -o prog.tw ./prog && trackway report prog.tw\n"
                           "\n"
                           "What cannot be instrumented is left as it is, and said on standard error with\n"
                           "its line. The exit status is the compiler's; 127: it cannot be run.\n";

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

/* The options, up to the compiler, at argv[optind]. 0, TW_EXIT_USAGE, or -1: the help was printed. */
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

/* Where both the compiler's name and a build system's launcher have it, it stands there twice. */
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

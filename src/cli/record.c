/* trackway record: runs a program under the engine, collects, stores. */
#include "cli/attached.h"
#include "cli/cli.h"
#include "cli/budget.h"
#include "cli/burst.h"
#include "cli/died.h"
#include "cli/ending.h"
#include "cli/learned.h"
#include "cli/options.h"
#include "cli/with.h"
#include "base/text.h"
#include "channel/aside.h"
#include "channel/asked.h"
#include "channel/budget.h"
#include "cc/finish.h"
#include "channel/collector.h"
#include "channel/keep.h"
#include "channel/launch.h"
#include "channel/machine.h"
#include "channel/spool.h"
#include "channel/where.h"
#include "cli/progress.h"
#include "cli/spooling.h"
#include "cli/window.h"
#include "learn/known.h"
#include "names/kept.h"
#include "recording/recording.h"
#include "replay/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Exit statuses of ours, as env(1) and timeout(1) have them; every other one is the program's. */
enum { EXIT_MISMATCH = 3, EXIT_OURS = 125 };

#define DEFAULT_PERIOD_NS 1000000000u
#define MOST_RUNS         100u      /* with --until alone */
#define UNLIMITED         10000000u /* a budget that nothing but records could spend: ten times the program's own time */

struct record {
	/* options */
	char dir[PATH_MAX];
	int has_dir, quiet, verify, order, wait_first;
	int format, sink, follow;
	char *calls; /* NULL: they are not told; else as in struct tw_recording_info */
	const char *start_at, *stop_at;
	struct tw_ending ending;
	int progress;
	struct tw_where start, stop;
	const char *budget_as_given, *period_as_given, *per_as_given;
	struct tw_budget_asked budget;
	const char *learn; /* the file */
	unsigned learn_what;
	int learns_bare; /* nothing is recorded: blocks and branches are told when they are first come by */
	uint32_t runs;
	double until; /* share of facts that are new below which there is no further run */
	int has_format, learn_failed;
	uint64_t dump_pc;
	int dump_all;
	uint32_t hot, versions, share;
	int share_asked;  /* it was given */
	const char *keep; /* as given */
	struct tw_with with;
	int temporary; /* the recording does not stay */
	int names_later;
	struct tw_ring_size ring;
	const char *ring_as_given, *keep_when;
	const char *spool_as_given;
	uint64_t spool;
	pid_t pid; /* of a process that runs already; 0: a command is run */
	/* the run */
	int command_argc;
	char **command_argv;
	struct tw_command program;
	int plain;  /* under the engine, whatever it is */
	int native; /* without the engine, whatever it is */
	struct tw_burst_asked burst;
	int switchable;   /* by `trackway cc --switchable` */
	int instrumented; /* by `trackway cc`: the engine is not needed */
	char *engine;
	struct tw_aside aside; /* with wait_first */
	struct tw_sizes sizes;
	struct tw_writer *writer;
	int dir_fd; /* of the recording, which may be renamed; -1: there is none */
	struct tw_verify *comparator;
	struct tw_collector *collector;
	int not_attached;
	int left; /* file descriptor that can be read when what is recorded goes on natively */
	struct tw_output_result result;
	struct tw_recording_info end;
	struct tw_moment begun;
	struct utsname uts;
	char cpu[64], cwd[PATH_MAX], kernel[sizeof((struct utsname *)0)->release + sizeof((struct utsname *)0)->sysname + 2];
	struct tw_collector_shares shares;
};

static const char help[] = "Usage: trackway record [OPTION...] [--] COMMAND [ARGUMENT...]\n"
                           "       trackway record [OPTION...] --pid=PID\n\n"
                           "Runs COMMAND and records each basic block and memory reference of it. Its input,\n"
                           "output and exit status are its own. Or records process PID, which runs already,\n"
                           "from now on.\n\n"
                           "  -o DIR                 where the recording goes; default NAME.tw, with NAME\n"
                           "                         the command's. A recording that is there already is\n"
                           "                         kept as DIR.old\n"
                           "  --pid=PID              record this process, with all its threads, and what it\n"
                           "                         starts from now on, until it ends\n"
                           "  -f FORMAT              dep (default); dep-c (control flow only); call (slow,\n"
                           "                         simple); none (only run); to compare with: bb_pc,\n"
                           "                         mem_addr, bb_pc+mem_addr, dep06, dep06-c, cf_bit\n"
                           "  --sink=file            store the recording (default)\n"
                           "  --sink=count           count and discard; store only totals and modules\n"
                           "  --follow=all|none      record child processes too (default), or let them run\n"
                           "                         natively\n"
                           "  --wait=all|first       end when all that COMMAND started has ended (default),\n"
                           "                         or when COMMAND has: the rest is recorded on, in the\n"
                           "                         background\n"
                           "  --start=WHERE          record from here on: FUNCTION, MODULE!FUNCTION,\n"
                           "                         0xADDRESS (in memory), MODULE!0xADDRESS (in its\n"
                           "                         file), a time since the start (2.5s, 300ms) or a\n"
                           "                         count of instructions (1000000i, 5Mi)\n"
                           "  --stop=WHERE           record no more from here on\n"
                           "  --burst=TIME --every=TIME\n"
                           "                         record for 10ms, say, every 1s: of a program that was\n"
                           "                         compiled with trackway cc --switchable, which runs as\n"
                           "                         it would without a recorder in between\n"
                           "  --max-size=SIZE        end recording, not the program, when SIZE (500M, 2G) is\n"
                           "                         stored; what is on its way then is stored too\n"
                           "  --max-time=TIME        end recording, not the program, after TIME (90s, 300ms)\n"
                           "  --progress             tell size and rate: on a terminal in a line that is\n"
                           "                         renewed each second, else at each SIGUSR1\n"
                           "  --budget=SHARE|TIME    record only for so long that it costs the program no\n"
                           "                         more than SHARE (10%) of the time it takes without,\n"
                           "                         or TIME (100ms) in each period; else it runs bare\n"
                           "  --period=TIME          the period of the budget: 50ms, 10s; default 1s\n"
                           "  --budget-per=program|thread\n"
                           "                         one budget for all processes and threads (default), or\n"
                           "                         one for each thread\n"
                           "  --ring=SIZE|TIME       keep only the last of what ran, so much as stored\n"
                           "                         (64M) or for so long (10s), in memory; it is written\n"
                           "                         at the end, and at `trackway keep PID`\n"
                           "  --spool=SIZE           what the program writes faster than it can be encoded\n"
                           "                         waits in a file of at most SIZE (2G), so that it runs\n"
                           "                         on; default: a quarter of the free memory; 0: none\n"
                           "  --keep-when=FUNCTION   with --ring: record no more when FUNCTION is called, so\n"
                           "                         that what was before is kept\n"
                           "  --learn=FILE           add to FILE which of its code ran, and where branches\n"
                           "                         went (trackway learn). COMMAND runs bare, and tells\n"
                           "                         what it comes by first, and is not in FILE. With -o\n"
                           "                         or -f it is recorded, in format dep-c where none is\n"
                           "                         given\n"
                           "  --learn-what=WHAT      blocks, branches, calls or all (default)\n"
                           "  --runs=N               run COMMAND N times, to learn more\n"
                           "  --until=SHARE          ... or until a run adds less than SHARE (0.5%)\n"
                           "  --with=NAME[,OPTION[=VALUE]...]\n"
                           "                         have an analyzer, or a plug-in ./FILE.so, look at\n"
                           "                         what is recorded as it comes; nothing is stored then,\n"
                           "                         but with -o (trackway analyze --list)\n"
                           "  --verify               compare every reference with what the program did\n"
                           "  --order                time stamps before and after each locked instruction\n"
                           "                         and fence (trackway dump --order)\n"
                           "  --calls[=NAME,...]     tell calls of functions that allocate memory, lock, or\n"
                           "                         make and await threads, and of those named, with\n"
                           "                         arguments and results: for heap, races, locks\n"
                           "  --hot=N                code met N times in what was recorded is translated\n"
                           "                         again, as superblocks; default 16, 0: never\n"
                           "  --versions=N           at most N superblocks begin at one address, each for\n"
                           "                         another set of known registers; default 8\n"
                           "  --share=MB             memory for translations that processes which run the\n"
                           "                         same program leave each other; default: an eighth of\n"
                           "                         all, at most 1024; 0: none\n"
                           "  --keep=DIR|none        where they are kept for the next recording, at most as\n"
                           "                         many MB or, without --share, 256; default\n"
                           "                         ~/.cache/trackway/translations; `none`: nowhere\n"
                           "  --names=later          keep no symbols and lines with the recording: they are\n"
                           "                         looked up in the files when they are asked for\n"
                           "  --show-fragment=ADDR   print the translation of the code at ADDR, in hex, on\n"
                           "                         stderr; `all` for all code\n"
                           "  --plain                run a program that `trackway cc` has instrumented under\n"
                           "                         the engine, like any other\n"
                           "  --native               run COMMAND natively, whatever it is, and record only\n"
                           "                         what `trackway cc` has instrumented: in it, in its\n"
                           "                         libraries, in what it starts\n"
                           "  -q                     no summary line at the end\n"
                           "  --help                 this text\n\n"
                           "Exit status: the command's; 3 when --verify found a mismatch, 125 when Trackway\n"
                           "itself failed, 126 when the command cannot be run, 127 when it is not found.\n";

/* ---- options ---- */

static int bad_usage(const char *what, const char *value)
{
	tw_usage_error("record", "%s '%s'", what, value);
	return EXIT_OURS;
}

static int set_directory(struct record *r, const char *dir)
{
	r->has_dir = tw_parse_directory(dir, r->dir, sizeof r->dir);
	return r->has_dir ? 0 : bad_usage("-o wants the name of a directory, which a recording is, not", dir);
}

static int set_format(struct record *r, const char *name)
{
	r->format = tw_format_by_name(name);
	r->has_format = 1;
	if (r->format >= 0)
		return 0;
	return bad_usage("the formats are dep, dep-c, call, none, bb_pc, mem_addr, bb_pc+mem_addr, dep06, dep06-c and cf_bit, not", name);
}

static int set_sink(struct record *r, const char *name)
{
	r->sink = tw_sink_by_name(name);
	return r->sink >= 0 ? 0 : bad_usage("the sinks are file and count, not", name);
}

static int set_follow(struct record *r, const char *name)
{
	r->follow = tw_follow_by_name(name);
	return r->follow >= 0 ? 0 : bad_usage("--follow wants all or none, not", name);
}

static int set_names(struct record *r, const char *when)
{
	r->names_later = !strcmp(when, "later");
	return r->names_later || !strcmp(when, "now") ? 0 : bad_usage("--names wants now or later, not", when);
}

static int set_wait(struct record *r, const char *text)
{
	r->wait_first = !strcmp(text, "first");
	return r->wait_first || !strcmp(text, "all") ? 0 : bad_usage("--wait wants all or first, not", text);
}

static int set_where(struct tw_where *where, const char **as_given, const char *text)
{
	*as_given = text;
	return tw_where_parse(text, where)
	           ? 0
	           : bad_usage("--start and --stop want a function, 0xADDRESS, time (2.5s) or count (5Mi), not", text);
}

static int set_budget(struct record *r, const char *text)
{
	r->budget_as_given = text;
	return tw_budget_parse(text, &r->budget) ? 0
	                                         : bad_usage("--budget wants a share from 0.1% to 1000% or a time from 100us, not", text);
}

static int set_period(struct record *r, const char *text)
{
	r->period_as_given = text;
	return tw_budget_parse_period(text, &r->budget) ? 0
	                                                : bad_usage("--period wants a time from 1ms to 1000s, such as 500ms, not", text);
}

static int set_per(struct record *r, const char *text)
{
	r->per_as_given = text;
	r->budget.per_thread = !strcmp(text, "thread");
	return r->budget.per_thread || !strcmp(text, "program") ? 0 : bad_usage("--budget-per wants program or thread, not", text);
}

static int set_ring(struct record *r, const char *text)
{
	r->ring_as_given = text;
	return tw_ring_parse(text, &r->ring) ? bad_usage("--ring wants a size (64M) or a time (10s), not", text) : 0;
}

/* It is where recording stops: what the ring has then stays. */
static int set_keep_when(struct record *r, const char *text)
{
	r->keep_when = text;
	if (set_where(&r->stop, &r->stop_at, text))
		return EXIT_OURS;
	return r->stop.kind == TW_WHERE_FUNCTION || r->stop.kind == TW_WHERE_ADDRESS
	           ? 0
	           : bad_usage("--keep-when wants a function or 0xADDRESS, not", text);
}

static int check_ring(const struct record *r)
{
	if (r->keep_when && !r->ring_as_given)
		return bad_usage("there is no --ring to go with", "--keep-when");
	if (!r->ring_as_given)
		return 0;
	if (r->keep_when && r->stop_at != r->keep_when)
		return bad_usage("--keep-when does not go with", "--stop");
	if (r->format == TW_FORMAT_NONE || r->sink == TW_SINK_COUNT)
		return bad_usage("--ring is of no use with", r->sink == TW_SINK_COUNT ? "--sink=count" : "-f none");
	return 0;
}

static int set_spool(struct record *r, const char *text)
{
	r->spool_as_given = text;
	if (!tw_parse_bytes(text, &r->spool))
		return bad_usage("--spool wants a size, as 500M or 2G, or 0, not", text);
	return !r->spool || r->spool >= TW_SPOOL_LEAST ? 0 : bad_usage("--spool wants 64M or more, or 0, not", text);
}

static int set_limit(struct record *r, int is_size, const char *text)
{
	if (is_size ? tw_ending_size(&r->ending, text) : tw_ending_time(&r->ending, text))
		return 0;
	return bad_usage(is_size ? "--max-size wants a size, as 500M or 2G, not" : "--max-time wants a time, as 90s or 300ms, not", text);
}

static int set_learn_what(struct record *r, const char *text)
{
	r->learn_what = tw_learned_what(text);
	return r->learn_what ? 0 : bad_usage("--learn-what wants blocks, branches, calls or all, not", text);
}

static int set_until(struct record *r, const char *text)
{
	char *end;
	r->until = strtod(text, &end) / 100;
	const int good = end != text && !strcmp(end, "%") && r->until > 0 && r->until < 1;
	return good ? 0 : bad_usage("--until wants a share such as 0.5%, not", text);
}

static int set_show(struct record *r, const char *text)
{
	char *end;
	if (!strcmp(text, "all")) {
		r->dump_all = 1;
		return 0;
	}
	r->dump_pc = strtoull(text, &end, 16);
	return *text && !*end ? 0 : bad_usage("--show-fragment wants a hexadecimal address or 'all', not", text);
}

/* A number from 0 to `most`. */
static int set_number(uint32_t *to, const char *option, uint32_t most, const char *text)
{
	char *end, what[80];
	unsigned long n = strtoul(text, &end, 10);
	*to = (uint32_t)n;
	if (*text >= '0' && *text <= '9' && !*end && n <= most)
		return 0;
	snprintf(what, sizeof what, "%s wants a number up to %u, not", option, most);
	return bad_usage(what, text);
}

/* Calls are told, also of the functions `more`, with commas between. */
static int set_calls(struct record *r, const char *more)
{
	const char *before = r->calls ? r->calls : "known";
	char *calls = NULL;
	if (asprintf(&calls, "%s%s%s", before, more && *more ? "," : "", more ? more : "") < 0)
		return bad_usage("no memory for", "--calls");
	free(r->calls);
	r->calls = calls;
	return strlen(calls) < TW_CALLS_TEXT ? 0 : bad_usage("--calls has too many names:", more);
}

static int set_option(struct record *r, int option)
{
	switch (option) {
	case 'o':
		return set_directory(r, optarg);
	case 'f':
		return set_format(r, optarg);
	case 's':
		return set_sink(r, optarg);
	case 'C':
		return set_follow(r, optarg);
	case 'W':
		return set_wait(r, optarg);
	case 'B':
		return set_where(&r->start, &r->start_at, optarg);
	case 'E':
		return set_where(&r->stop, &r->stop_at, optarg);
	case 'b':
		return set_budget(r, optarg);
	case 'k':
		r->learn = optarg;
		return 0;
	case 'l':
		return set_learn_what(r, optarg);
	case 'r':
		return set_number(&r->runs, "--runs", 1000000, optarg);
	case 'U':
		return set_until(r, optarg);
	case 'p':
		return set_period(r, optarg);
	case 'T':
		return set_per(r, optarg);
	case 'M':
	case 'm':
		return set_limit(r, option == 'M', optarg);
	case 'G':
		r->progress = 1;
		return 0;
	case 'F':
		return set_show(r, optarg);
	case 'H':
		return set_number(&r->hot, "--hot", 1000000000, optarg);
	case 'V':
		return set_number(&r->versions, "--versions", 1000, optarg);
	case 'S':
		r->share_asked = 1;
		return set_number(&r->share, "--share", TW_STORE_BYTES >> 20, optarg);
	case 'K':
		r->keep = optarg;
		return 0;
	case 'N':
		return set_names(r, optarg);
	case 'X':
		return tw_with_add(&r->with, optarg) ? EXIT_OURS : 0;
	case 'v':
		r->verify = 1;
		return 0;
	case 'O':
		r->order = 1;
		return 0;
	case 'L':
		return set_calls(r, optarg);
	case 'P':
		r->plain = 1;
		r->native = 0;
		return 0;
	case 'Y':
		r->native = 1;
		r->plain = 0;
		return 0;
	case 'q':
		r->quiet = 1;
		return 0;
	case 'R':
		return set_ring(r, optarg);
	case 'Z':
		return set_spool(r, optarg);
	case '1':
		r->burst.burst = optarg;
		return 0;
	case '2':
		r->burst.every = optarg;
		return 0;
	case 'Q':
		return set_keep_when(r, optarg);
	case 'A':
		r->pid = tw_attached_parse(optarg);
		return r->pid ? 0 : bad_usage("--pid wants the number of a process, not", optarg);
	default:
		return EXIT_OURS;
	}
}

static int check_budget(struct record *r)
{
	const char *without = r->period_as_given ? "--period" : "--budget-per";
	if (!r->budget_as_given && r->learns_bare)
		r->budget = (struct tw_budget_asked){.period = DEFAULT_PERIOD_NS, .budget = UNLIMITED, .is_share = 1};
	if (!r->budget_as_given)
		return r->period_as_given || r->per_as_given ? bad_usage("there is no --budget to go with", without) : 0;
	if (!r->period_as_given)
		r->budget.period = DEFAULT_PERIOD_NS;
	if (r->format == TW_FORMAT_NONE)
		return bad_usage("--budget is of no use in format", "none");
	if (r->start_at || r->stop_at)
		return bad_usage("--budget does not go with", r->start_at ? "--start" : "--stop");
	if (!r->budget.is_share && r->budget.budget > r->budget.period)
		return bad_usage("the period is shorter than --budget", r->budget_as_given);
	return 0;
}

/* What analyzers want recorded that is not by default. */
static int take_wishes(struct record *r)
{
	const uint32_t needs = tw_with_needs(&r->with);
	r->order |= (needs & TW_WANTS_ORDER) != 0;
	return (needs & TW_NEEDS_CALLS) && !r->calls ? set_calls(r, NULL) : 0;
}

static int check_ending(const struct record *r)
{
	const char *option = r->ending.size ? "--max-size" : "--max-time";
	if (!r->ending.size && !r->ending.time)
		return 0;
	if (r->format == TW_FORMAT_NONE)
		return bad_usage("nothing is recorded in format none: there is no use for", option);
	if (r->budget.period || r->ring_as_given)
		return bad_usage(r->ring_as_given ? "--ring does not go with" : "--budget does not go with", option);
	if (r->ending.size && (r->sink == TW_SINK_COUNT || (r->with.n && !r->has_dir)))
		return bad_usage("where no recording is stored there is no use for", option);
	return 0;
}

static int check_learn(struct record *r)
{
	if (!r->learn)
		return r->learn_what != TW_LEARN_ALL || r->runs != 1 || r->until > 0
		           ? bad_usage("there is no --learn to go with", r->learn_what != TW_LEARN_ALL ? "--learn-what"
		                                                         : r->runs != 1                ? "--runs"
		                                                                                       : "--until")
		           : 0;
	if (!r->has_format)
		r->format = TW_FORMAT_DEP_C;
	r->learns_bare = !r->has_format && !r->has_dir && !r->verify && !r->order && !r->calls && !r->start_at && !r->stop_at &&
	                 !r->ending.size && !r->ending.time;
	if (r->until > 0 && r->runs == 1)
		r->runs = MOST_RUNS;
	if (!r->runs)
		return bad_usage("--runs wants at least 1, not", "0");
	if (r->format == TW_FORMAT_NONE || r->format == TW_FORMAT_MEM_ADDR)
		return bad_usage("--learn cannot be had in format", tw_format_name((uint32_t)r->format));
	if (r->with.n || r->sink == TW_SINK_COUNT || r->wait_first || r->pid || r->ring_as_given)
		return bad_usage("--learn does not go with", r->ring_as_given           ? "--ring"
		                                             : r->with.n                ? "--with"
		                                             : r->sink == TW_SINK_COUNT ? "--sink=count"
		                                             : r->pid                   ? "--pid"
		                                                                        : "--wait=first");
	return 0;
}

/* Returns -1 to go on, or the exit status. */
static int parse(struct record *r, int argc, char **argv)
{
	static const struct option options[] = {
	    {"output", required_argument, NULL, 'o'},
	    {"format", required_argument, NULL, 'f'},
	    {"sink", required_argument, NULL, 's'},
	    {"show-fragment", required_argument, NULL, 'F'},
	    {"start", required_argument, NULL, 'B'},
	    {"stop", required_argument, NULL, 'E'},
	    {"follow", required_argument, NULL, 'C'},
	    {"hot", required_argument, NULL, 'H'},
	    {"versions", required_argument, NULL, 'V'},
	    {"share", required_argument, NULL, 'S'},
	    {"learn", required_argument, NULL, 'k'},
	    {"learn-what", required_argument, NULL, 'l'},
	    {"runs", required_argument, NULL, 'r'},
	    {"until", required_argument, NULL, 'U'},
	    {"budget", required_argument, NULL, 'b'},
	    {"period", required_argument, NULL, 'p'},
	    {"budget-per", required_argument, NULL, 'T'},
	    {"keep", required_argument, NULL, 'K'},
	    {"names", required_argument, NULL, 'N'},
	    {"wait", required_argument, NULL, 'W'},
	    {"verify", no_argument, NULL, 'v'},
	    {"with", required_argument, NULL, 'X'},
	    {"order", no_argument, NULL, 'O'},
	    {"quiet", no_argument, NULL, 'q'},
	    {"plain", no_argument, NULL, 'P'},
	    {"pid", required_argument, NULL, 'A'},
	    {"ring", required_argument, NULL, 'R'},
	    {"keep-when", required_argument, NULL, 'Q'},
	    {"spool", required_argument, NULL, 'Z'},
	    {"native", no_argument, NULL, 'Y'},
	    {"calls", optional_argument, NULL, 'L'},
	    {"max-size", required_argument, NULL, 'M'},
	    {"max-time", required_argument, NULL, 'm'},
	    {"burst", required_argument, NULL, '1'},
	    {"every", required_argument, NULL, '2'},
	    {"progress", no_argument, NULL, 'G'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	static const struct tw_option_set set = {"record", "+:o:f:qh", options};
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		if (option == 'h')
			return fputs(help, stdout) < 0;
		if (option == '?' || option == ':')
			tw_wrong_option(&set, option, argv);
		int status = set_option(r, option);
		if (status)
			return status;
	}
	r->command_argc = argc - optind;
	r->command_argv = argv + optind;
	if (r->pid && r->command_argc)
		return bad_usage("with --pid, which records what runs already, there is no command, as", r->command_argv[0]);
	if (r->pid && (r->wait_first || r->plain))
		return bad_usage("--pid does not go with", r->plain ? "--plain" : "--wait=first");
	if (r->command_argc < 1 && !r->pid) {
		tw_usage_error("record", "there is no command to run");
		return EXIT_OURS;
	}
	if (r->verify && !tw_format_has_refs((uint32_t)r->format))
		return bad_usage("--verify has nothing to compare in format", tw_format_name((uint32_t)r->format));
	if (r->verify && r->wait_first)
		return bad_usage("--verify, which says what it found when all has ended, cannot be had with --wait", "first");
	if (r->with.n && r->verify)
		return bad_usage("--verify does not go with", "--with");
	if (take_wishes(r) || (r->with.n && tw_with_check(&r->with, (uint32_t)r->format, r->order)))
		return EXIT_OURS;
	if (r->order && r->format == TW_FORMAT_NONE)
		return bad_usage("--order is of no use in format", "none");
	if (r->order && tw_form_of((uint32_t)r->format) == TW_FORM_BITS)
		return bad_usage("--order cannot be had in format", tw_format_name((uint32_t)r->format));
	if (r->calls && (r->format == TW_FORMAT_NONE || tw_form_of((uint32_t)r->format) == TW_FORM_BITS))
		return bad_usage("--calls cannot be had in format", tw_format_name((uint32_t)r->format));
	if ((r->start_at || r->stop_at) && r->format == TW_FORMAT_NONE)
		return bad_usage("--start and --stop are of no use in format", "none");
	if (check_learn(r) || check_budget(r) || check_ring(r) || check_ending(r) || tw_burst_check(&r->burst))
		return EXIT_OURS;
	if (r->start.kind && r->start.kind != TW_WHERE_COUNT && !memcmp(&r->start, &r->stop, sizeof r->start))
		return bad_usage("--start and --stop are both", r->start_at);
	return -1;
}

/* ---- preparing ---- */

static int own_error(const struct record *r, int error)
{
	tw_recording_error("record", r->dir[0] ? r->dir : r->command_argv[0], error);
	return EXIT_OURS;
}

static bool is_limited(int resource)
{
	struct rlimit limit;
	return !getrlimit((__rlimit_resource_t)resource, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

/* Which limits there are, and that they are too low. */
static int too_little(const struct tw_sizes *least)
{
	const bool of_memory = is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA), of_files = is_limited(RLIMIT_FSIZE);
	fprintf(stderr, "trackway record: a limit is too low: recording needs ");
	if (of_memory || !of_files)
		fprintf(stderr, "%llu MB of memory beside what the program takes (ulimit -v, -d)%s",
		        (unsigned long long)(least->space >> 20), of_files ? " and " : "");
	if (of_files)
		fprintf(stderr, "shared memory of %llu MB (ulimit -f)", (unsigned long long)(least->memfd_bytes >> 20));
	fputc('\n', stderr);
	return EXIT_OURS;
}

static int not_for_instrumented(const struct record *r, const char *what, const char *value)
{
	char sentence[128];
	snprintf(sentence, sizeof sentence, "%s: %s",
	         r->native ? "--native records what trackway cc instrumented" : "the program was instrumented by trackway cc", what);
	return bad_usage(sentence, value);
}

/* Can it be done with a program in one version, or in two? */
static int can_be_switched(const struct record *r, uint32_t kind)
{
	return !kind || kind == TW_WHERE_COUNT || (kind == TW_WHERE_TIME && r->switchable);
}

/* Programs in two versions can be recorded for a time, and in bursts. */
static int check_switchable(const struct record *r)
{
	if (!can_be_switched(r, r->start.kind) || !can_be_switched(r, r->stop.kind))
		return not_for_instrumented(
		    r, "there is no", r->switchable ? "--start or --stop but at a count or a time" : "--start or --stop but at a count");
	if (r->burst.burst && !r->switchable)
		return not_for_instrumented(r, "without trackway cc --switchable there is no", "--burst");
	return 0;
}

/* What an instrumented program writes is of one kind, from its beginning to its end. */
static int check_instrumented(const struct record *r)
{
	if (r->format != TW_FORMAT_DEP)
		return not_for_instrumented(r, "it can only be recorded in format dep, not", tw_format_name((uint32_t)r->format));
	if (r->verify || r->with.n)
		return not_for_instrumented(r, "there is no", r->verify ? "--verify" : "--with");
	if (r->budget_as_given)
		return not_for_instrumented(r, "there is no", "--budget");
	if (r->calls)
		return not_for_instrumented(r, "there is no", "--calls");
	if (r->ending.size || r->ending.time)
		return bad_usage("the program was instrumented by trackway cc: there is no", r->ending.size ? "--max-size" : "--max-time");
	if (r->order)
		return not_for_instrumented(r, "there is no", "--order");
	return check_switchable(r);
}

/* What is to be recorded: a command, or a process that runs already. */
static int find_program(struct record *r)
{
	if (!r->pid)
		return tw_command_resolve(r->command_argc, r->command_argv, &r->program);
	const int status = tw_attached_program(r->pid, &r->program) ? EXIT_OURS : 0;
	r->command_argc = r->program.argc;
	r->command_argv = r->program.argv;
	r->plain = 1;
	return status;
}

static int prepare_program(struct record *r)
{
	int status;
	if (access("/proc/self/fd", X_OK)) {
		fprintf(stderr, "trackway record: recording needs /proc, which is not mounted here (mount -t proc proc /proc)\n");
		return EXIT_OURS;
	}
	status = find_program(r);
	if (status) {
		fprintf(stderr, "trackway record: %s\n", r->program.why);
		return status;
	}
	if (!r->pid && (tw_window_before("--start", r->program.path, r->start_at, &r->start, r->quiet) ||
	                tw_window_before(r->keep_when ? "--keep-when" : "--stop", r->program.path, r->stop_at, &r->stop, r->quiet)))
		return EXIT_OURS;
	r->instrumented = r->native || (!r->plain && !r->with.n && tw_cc_is_instrumented(r->program.path));
	if (r->instrumented && r->learns_bare && !r->budget_as_given)
		r->budget.period = 0;
	r->switchable = !r->native && r->instrumented && tw_cc_is_switchable(r->program.path);
	if (r->instrumented)
		return check_instrumented(r);
	if (r->burst.burst)
		return bad_usage("only programs compiled with trackway cc --switchable can be recorded in", "bursts");
	r->engine = tw_launch_engine();
	if (!r->engine) {
		fprintf(stderr,
		        "trackway record: the engine, trackway-engine, is neither beside trackway nor in ../lib/trackway from there\n");
		return EXIT_OURS;
	}
	return 0;
}

static void default_directory(struct record *r)
{
	const char *command = r->pid ? r->program.name : r->command_argv[0], *name = strrchr(command, '/');
	name = name ? name + 1 : command;
	snprintf(r->dir, sizeof r->dir, "%.*s.tw", NAME_MAX - 8, name);
}

/* What is known of the recording before it begins; its strings are those of *r. */
static void fill_info(struct record *r, struct tw_recording_info *info)
{
	uname(&r->uts);
	tw_machine_cpu(r->cpu);
	if (r->pid ? tw_attached_directory(r->pid, r->cwd, sizeof r->cwd) : !getcwd(r->cwd, sizeof r->cwd))
		r->cwd[0] = 0;
	snprintf(r->kernel, sizeof r->kernel, "%s %s", r->uts.sysname, r->uts.release);
	*info = (struct tw_recording_info){
	    .format = (uint32_t)r->format,
	    .sink = (uint32_t)r->sink,
	    .follow = (uint32_t)r->follow,
	    .attached = (uint32_t)r->pid,
	    .instrumented = r->instrumented != 0,
	    .burst = r->burst.in_ns.on,
	    .every = r->burst.in_ns.every,
	    .start_at = (char *)r->start_at,
	    .stop_at = (char *)(r->stop_at ? r->stop_at : tw_ending_text(&r->ending)),
	    .start = time(NULL),
	    .tsc_start = r->begun.tsc,
	    .tsc_invariant = (uint32_t)tw_machine_tsc_invariant(),
	    .order = (uint32_t)r->order,
	    .calls = r->calls,
	    .argc = r->command_argc,
	    .argv = r->command_argv,
	    .program = r->program.path,
	    .cwd = r->cwd,
	    .host = r->uts.nodename,
	    .cpu = r->cpu,
	    .kernel = r->kernel,
	};
	tw_machine_xstate(&info->xstate);
}

static int create_recording(struct record *r, const struct tw_recording_info *info)
{
	int error = tw_directory_prepare(r->dir);
	if (error)
		return error;
	error = tw_writer_create(r->dir, info, &r->writer);
	if (error)
		tw_directory_abandon(r->dir);
	else
		r->dir_fd = fcntl(tw_writer_directory(r->writer), F_DUPFD_CLOEXEC, 0);
	return error;
}

/* With analyzers, or in format none, nothing is stored unless it is asked for. */
static int prepare_recording(struct record *r)
{
	struct tw_recording_info info;
	r->begun = tw_machine_now();
	fill_info(r, &info);
	if (!r->has_dir && r->format != TW_FORMAT_NONE && !r->with.n && !r->learn)
		default_directory(r);
	r->temporary = !r->has_dir && (r->learn || tw_with_needs_recording(&r->with));
	int error = r->with.n ? tw_with_start(&r->with, &info) : 0;
	if (!error && r->temporary)
		error = tw_with_make_directory(r->dir, sizeof r->dir);
	if (!error && r->dir[0])
		error = create_recording(r, &info);
	return error < 0 ? own_error(r, error) : error ? EXIT_OURS : 0;
}

/* ---- verifying ---- */

static const struct tw_descriptor *look_up(void *context, uint32_t number)
{
	const struct record *r = context;
	return tw_collector_descriptor(r->collector, number);
}

static int check_chunk(void *context, const struct tw_chunk *chunk)
{
	struct record *r = context;
	return tw_verify_chunk(r->comparator, chunk);
}

static int prepare_verify(struct record *r)
{
	struct tw_xstate xstate;
	if (!r->verify)
		return 0;
	tw_machine_xstate(&xstate);
	r->comparator = tw_verify_new(&xstate, look_up, r);
	return r->comparator ? 0 : own_error(r, TW_ERR_MEMORY);
}

/* ---- running ---- */

/* Where translations are kept for the next recording; NULL: nowhere. */
static const char *place_to_keep(const struct record *r, char path[TW_KEEP_PATH])
{
	if (r->keep)
		return strcmp(r->keep, "none") ? r->keep : NULL;
	return tw_keep_default(path) ? path : NULL;
}

/* What the learn file has is not told again. */
static void fill_told(void *context, struct tw_control *c)
{
	const struct record *r = context;
	tw_learn_known(r->learn, c);
}

static int start_collector(struct record *r)
{
	char path[TW_KEEP_PATH];
	struct tw_collector_options options = {
	    .format = (uint32_t)r->format,
	    .verify = r->verify,
	    .start = r->start,
	    .stop = r->stop,
	    .most_bytes = r->ending.most_bytes,
	    .most_ns = r->ending.most_ns,
	    .budget = r->budget,
	    .burst = r->burst.in_ns,
	    .ring = r->ring,
	    .spool = r->spool_as_given || !r->writer ? r->spool : tw_spooling_default(r->dir),
	    .tell_left = r->quiet ? NULL : tw_spooling_tell,
	    .no_follow = r->follow == TW_FOLLOW_NONE,
	    .order = r->order,
	    .calls = r->calls ? r->calls + strlen("known") : NULL,
	    .learn = r->learn && r->budget.period ? r->learn_what : 0,
	    .bare = r->learns_bare,
	    .fill_told = fill_told,
	    .fill_context = r,
	    .discard = r->sink == TW_SINK_COUNT,
	    .writer = r->writer,
	    .dump_pc = r->dump_pc,
	    .dump_all = r->dump_all,
	    .hot = r->hot,
	    .versions = r->versions,
	    .share = (uint64_t)r->share << 20,
	    .keep = place_to_keep(r, path),
	    .keep_bytes = r->share_asked ? (uint64_t)r->share << 20 : TW_KEEP_BYTES,
	    .must_keep = r->keep != NULL,
	    .sizes = &r->sizes,
	    .check = r->verify ? check_chunk : NULL,
	    .check_context = r,
	    .feed = r->with.feed,
	};
	int error = tw_collector_new(&options, &r->collector);
	return error ? own_error(r, error) : 0;
}

/* The processes that are recorded are to go on natively. */
static int let_go(struct record *r, char *said, size_t size)
{
	const uint64_t one = 1;
	if (r->instrumented) {
		snprintf(said, size, "a program that trackway cc has instrumented records itself, to its end");
		return -1;
	}
	if (tw_attached_let_go(tw_collector_control(r->collector), said, size))
		return -1;
	return write(r->left, &one, sizeof one) < 0 ? -1 : 0;
}

/* What the ring has is to be stored now. */
static int keep(struct record *r, char *said, size_t size)
{
	if (!r->ring_as_given || !r->writer) {
		snprintf(said, size, "it is not recorded with --ring: all of it is stored");
		return -1;
	}
	tw_collector_keep(r->collector);
	snprintf(said, size, "the last %s is stored in %s", r->ring_as_given, r->dir);
	return 0;
}

/* What somebody else asks for (channel/asked.h). */
static int asked(void *context, const char *word, char *answer, size_t size)
{
	if (!strcmp(word, "stop"))
		return let_go(context, answer, size);
	if (!strcmp(word, "keep"))
		return keep(context, answer, size);
	snprintf(answer, size, "this recorder does not know what '%s' is", word);
	return -1;
}

static void stop(void *context)
{
	tw_collector_stop(context);
}

/* The program has ended; what it left behind is recorded to its end. */
static void wait_for_others(struct record *r)
{
	enum { PATIENCE_MS = 1000, FIRST_PATIENCE_MS = 100 };
	const unsigned n = tw_collector_end(r->collector, r->wait_first ? FIRST_PATIENCE_MS : PATIENCE_MS);
	char until[80] = "or until SIGINT or SIGTERM";
	if (r->wait_first)
		snprintf(until, sizeof until, "by process %d, or until that gets SIGTERM", (int)getpid());
	if (n && !r->quiet)
		fprintf(stderr, "trackway: %s has ended; %u process%s it left behind %s on and %s recorded to the end, %s\n",
		        r->command_argv[0], n, n == 1 ? "" : "es", n == 1 ? "goes" : "go", n == 1 ? "is" : "are", until);
	if (n && r->wait_first)
		tw_aside_leave(&r->aside);
}

/* Runs the program. */
static struct tw_aside_end launch(struct record *r, const char *channel, void (*stop_it)(void *), void *context)
{
	const uint64_t start = tw_machine_ns();
	const struct tw_launch launch = {r->engine, channel, &r->program, stop_it, context, r->left};
	struct tw_aside_end end = {0};
	end.why = tw_launch_run(&launch, &end.wait_status);
	end.duration_ns = tw_machine_ns() - start;
	return end;
}

/* Takes a process that runs already, and waits for it. */
static struct tw_aside_end attach(struct record *r)
{
	const uint64_t start = tw_machine_ns();
	const struct tw_attach_options options = {r->pid, r->engine, tw_collector_path(r->collector), &r->sizes};
	struct tw_attached_end end = tw_attached_run(&options, r->left, r->quiet);
	char said[512];
	if (end.stopped) {
		end.left = !let_go(r, said, sizeof said);
		fprintf(stderr, "trackway: %s\n", said);
	}
	if (end.stopped && !end.left)
		tw_collector_stop(r->collector);
	r->not_attached = end.failed;
	return (struct tw_aside_end){.wait_status = end.left ? TW_LAUNCH_LEFT : end.wait_status, .duration_ns = tw_machine_ns() - start};
}

/* The program was let go before it had ended. */
static int has_left(const struct record *r)
{
	return r->end.wait_status == TW_LAUNCH_LEFT;
}

static int run(struct record *r)
{
	struct tw_aside_end end;
	r->left = eventfd(0, EFD_CLOEXEC);
	struct tw_asked *listening = tw_asked_begin(asked, r);
	struct tw_progress *progress = r->progress && !r->quiet ? tw_progress_begin(r->collector) : NULL;
	if (r->pid)
		end = attach(r);
	else if (r->wait_first)
		tw_aside_serve(&r->aside, tw_collector_path(r->collector), stop, r->collector, &end);
	else
		end = launch(r, tw_collector_path(r->collector), stop, r->collector);
	r->end.wait_status = end.wait_status;
	r->end.duration_ns = end.duration_ns;
	wait_for_others(r);
	tw_progress_end(progress);
	tw_collector_finish(r->collector, &r->result);
	tw_asked_end(listening);
	close(r->left);
	r->shares = tw_collector_shares(r->collector);
	if (!r->wait_first && !has_left(r))
		tw_launch_end();
	if (r->not_attached)
		return EXIT_OURS;
	if (!end.why)
		return 0;
	const char *what = r->engine ? r->engine : r->program.path;
	fprintf(stderr, "trackway record: %s cannot be started: %s\n", what, strerror(end.why));
	snprintf(r->result.failure, sizeof r->result.failure, "%s could not be started: %s", r->engine ? "the engine" : "the program",
	         strerror(end.why));
	r->result.said = 1;
	return EXIT_OURS;
}

/* ---- ending ---- */

/* Where a window was asked for that never opened, or that could not close, it is said why. */
static void look_at_window(struct record *r)
{
	struct tw_collector_window w;
	tw_collector_window(r->collector, &w);
	r->end.windows = w.opened;
	if (!r->quiet)
		tw_ending_tell(&r->ending, tw_collector_limit(r->collector));
	if (r->start.kind == TW_WHERE_TIME && !w.opened)
		fprintf(stderr, "trackway: nothing was recorded: no code of the program ran after %s%s%s\n", r->start_at,
		        r->stop_at ? " and before " : "", r->stop_at ? r->stop_at : "");
	else if (r->start.kind && !w.opened)
		fprintf(stderr, "trackway: nothing was recorded: %s was not %s\n", r->start_at, w.start_found ? "reached" : "found");
	else if (!w.stop_found)
		fprintf(stderr, "trackway: recording went on to the end: %s was not found\n", r->stop_at);
}

/* By which the recording can be opened under whatever name it has. */
enum { DIRECTORY_PATH = 64 };
static const char *directory_path(const struct record *r, char path[DIRECTORY_PATH])
{
	snprintf(path, DIRECTORY_PATH, "/proc/self/fd/%d", r->dir_fd);
	return path;
}

/* Keeps what names the code that ran with the recording. Without it names are those of the files as they are when they are asked for. */
static void keep_names(const struct record *r)
{
	char dir[DIRECTORY_PATH], why[1024];
	if (!r->writer || r->names_later || r->learns_bare || r->sink == TW_SINK_COUNT || r->format == TW_FORMAT_NONE)
		return;
	int error = tw_names_keep(directory_path(r, dir));
	if (error)
		fprintf(stderr, "trackway: no names are kept with the recording: %s\n", tw_failure_sentence(error, why, sizeof why));
}

static void close_recording(struct record *r)
{
	char dir[DIRECTORY_PATH];
	look_at_window(r);
	keep_names(r);
	r->end.complete = !r->result.failure[0];
	r->end.failure = r->result.failure;
	r->end.totals = r->result.totals;
	const struct tw_moment ended = tw_machine_now();
	r->end.tsc_hz = tw_machine_tsc_hz(&r->begun, &ended);
	if (r->result.failure[0] && !r->result.said)
		fprintf(stderr, "trackway: the recording is incomplete: %s\n", r->result.failure);
	tw_with_end(&r->with, &r->end);
	int error = r->writer ? tw_writer_close(r->writer, &r->end) : TW_OK;
	if (error)
		own_error(r, error);
	else if (r->writer)
		tw_with_replay(&r->with, r->dir);
	if (r->learn && !error)
		r->learn_failed = tw_learned_take(directory_path(r, dir), r->learn, r->learn_what, r->quiet) != 0;
	if (r->temporary)
		tw_with_remove_directory(r->dir);
}

static void print_stored(const struct record *r)
{
	const struct tw_totals *t = &r->result.totals;
	uint64_t stored = t->stored[TW_STREAM_C] + t->stored[TW_STREAM_M] + t->stored[TW_STREAM_E] + t->code_stored;
	fprintf(stderr, ", %llu bytes stored", (unsigned long long)stored);
	if (r->end.complete && t->refs)
		fprintf(stderr, " (%.3f per reference)", (double)stored / (double)t->refs);
	fprintf(stderr, " in %s%s", r->dir, r->end.complete ? "" : ", incomplete");
}

/* Of a recording that stopped early: what can be read of it. */
static void print_kept(const struct record *r)
{
	struct tw_recording *recording;
	char dir[DIRECTORY_PATH];
	if (tw_recording_open(directory_path(r, dir), &recording))
		return;
	const struct tw_totals *kept = tw_recording_totals(recording);
	fprintf(stderr, "; in it are %llu instructions, %llu references", (unsigned long long)kept->insns, (unsigned long long)kept->refs);
	tw_recording_close(recording);
}

static void print_summary(const struct record *r)
{
	const struct tw_totals *t = &r->result.totals;
	if (r->quiet)
		return;
	if (r->format == TW_FORMAT_NONE)
		fprintf(stderr, "trackway: nothing recorded (format none)");
	else if (r->learns_bare)
		fprintf(stderr, "trackway: nothing recorded but what is learned");
	else
		fprintf(stderr, "trackway: %llu instructions", (unsigned long long)t->insns);
	if (tw_format_has_refs((uint32_t)r->format))
		fprintf(stderr, ", %llu references", (unsigned long long)t->refs);
	if (r->writer && r->format != TW_FORMAT_NONE && r->sink == TW_SINK_FILE && !r->temporary)
		print_stored(r);
	else if (r->writer && !r->temporary)
		fprintf(stderr, ", totals in %s", r->dir);
	fprintf(stderr, ", %.2f s", (double)r->end.duration_ns / 1e9);
	if (t->cut) {
		fputs("; ", stderr);
		tw_tell_cut(stderr, t);
	}
	if (!r->end.complete && r->dir_fd >= 0 && r->sink == TW_SINK_FILE)
		print_kept(r);
	if (r->shares.shared || r->shares.forks)
		fprintf(stderr, "; %u of %u programs and %u forks began with translations of others", r->shares.shared, r->shares.programs,
		        r->shares.forks);
	fputc('\n', stderr);
}

/* What became of the budget. */
static void print_budget(const struct record *r)
{
	size_t n;
	const struct tw_budget *b = tw_collector_budget(r->collector, &n);
	if (b && r->budget_as_given && !r->quiet)
		tw_budget_print_line(stderr, "trackway: ", b, n);
}

/* What the program died of. */
static void print_death(const struct record *r)
{
	struct tw_recording *recording;
	char dir[DIRECTORY_PATH], name[24];
	if (r->quiet || has_left(r) || !WIFSIGNALED(r->end.wait_status))
		return;
	fputs("trackway: died of ", stderr);
	int known = r->dir_fd >= 0 && !tw_recording_open(directory_path(r, dir), &recording);
	if (!known || !tw_died_summary(stderr, recording, NULL))
		fputs(tw_signal_name(WTERMSIG(r->end.wait_status), name), stderr);
	fputc('\n', stderr);
	if (known)
		tw_recording_close(recording);
}

/* Ends this process as the program ended. */
static int end_like(int wait_status)
{
	if (!WIFSIGNALED(wait_status))
		return WEXITSTATUS(wait_status);
	int number = WTERMSIG(wait_status);
	struct rlimit no_core = {0, 0};
	sigset_t set;
	setrlimit(RLIMIT_CORE, &no_core);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number;
}

static int finish(struct record *r, int status)
{
	close_recording(r);
	if (r->comparator && (r->result.mismatch || !r->quiet))
		tw_verify_report(r->comparator, stderr);
	if (r->comparator)
		tw_verify_free(r->comparator);
	if (r->learn_failed && !status)
		status = EXIT_OURS;
	if (r->result.mismatch)
		status = EXIT_MISMATCH;
	if (status)
		return status;
	print_summary(r);
	print_budget(r);
	print_death(r);
	if (has_left(r) && !r->pid)
		return end_like(tw_launch_wait());
	return r->wait_first || r->pid ? 0 : end_like(r->end.wait_status);
}

/* What was made of a recording that cannot begin. */
static void abandon(struct record *r)
{
	r->end.failure = "recording could not begin";
	if (r->writer && !tw_writer_close(r->writer, &r->end))
		tw_directory_abandon(r->dir);
	tw_verify_free(r->comparator);
}

static void stop_aside(void *context)
{
	tw_aside_stop(context);
}

/* With --wait=first: what this process does while another collects. */
static int run_in_foreground(struct record *r)
{
	char channel[TW_ASIDE_PATH];
	r->left = -1;
	int status = tw_aside_path(&r->aside, channel);
	if (status >= 0)
		return status;
	const struct tw_aside_end end = launch(r, channel, stop_aside, &r->aside);
	status = tw_aside_end(&r->aside, &end);
	return status ? status : end_like(end.wait_status);
}

/* All that is not the program's: in the process that the user started, or in the one aside. */
static int collect(struct record *r)
{
	int status = prepare_recording(r);
	if (!status)
		status = prepare_verify(r);
	if (!status)
		status = start_collector(r);
	const int begun = !status;
	if (begun)
		status = run(r);
	if (begun && !r->not_attached)
		status = finish(r, status);
	else
		abandon(r);
	tw_collector_free(r->collector);
	tw_with_free(&r->with);
	free(r->calls);
	return status;
}

static int go_aside(struct record *r)
{
	const int why = tw_aside_begin(&r->aside);
	if (!why)
		return r->aside.collector ? run_in_foreground(r) : collect(r);
	fprintf(stderr, "trackway record: the process that is to record cannot be made: %s\n", strerror(why));
	return EXIT_OURS;
}

/* --share where it is not given, in MB. */
static uint32_t default_share(void)
{
	uint64_t most = tw_machine_memory() / 8;
	return (uint32_t)((most < TW_STORE_BYTES ? most : TW_STORE_BYTES) >> 20);
}

/* Did the run add so little that there is to be no further one? `before`: facts there were. */
static int is_enough(const struct record *r, uint64_t before)
{
	const uint64_t now = tw_learned_count(r->learn);
	return r->until > 0 && (double)(now - before) < r->until * (double)now;
}

/*
 * All runs but the last are made by children of this process, each as if it were the only one. -1: this is the child, or the last run: go on; else the exit status.
 */
static int repeat(const struct record *r)
{
	for (uint32_t k = 1; k < r->runs; k++) {
		const uint64_t before = tw_learned_count(r->learn);
		int wait_status = 0;
		fflush(NULL);
		const pid_t child = fork();
		if (child < 0)
			return EXIT_OURS;
		if (!child)
			return -1;
		while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
			;
		if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) == EXIT_OURS || is_enough(r, before))
			return end_like(wait_status);
	}
	return -1;
}

int tw_cmd_record(int argc, char **argv)
{
	struct record r = {.dir_fd = -1,
	                   .format = TW_FORMAT_DEP,
	                   .hot = 16,
	                   .versions = 8,
	                   .share = default_share(),
	                   .learn_what = TW_LEARN_ALL,
	                   .runs = 1};
	tw_launch_prepare();
	int status = parse(&r, argc, argv);
	if (status >= 0)
		return status;
	if (tw_launch_limits(r.sink == TW_SINK_COUNT, &r.sizes))
		return too_little(&r.sizes);
	status = prepare_program(&r);
	if (!status && r.learn && tw_learned_check(r.learn, r.program.path))
		status = EXIT_OURS;
	if (!status)
		status = repeat(&r);
	if (status < 0)
		status = r.wait_first ? go_aside(&r) : collect(&r);
	tw_command_free(&r.program);
	free(r.engine);
	return status;
}

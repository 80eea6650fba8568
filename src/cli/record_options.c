#include "cli/record_options.h"
#include "cli/record_help.h"
#include "cli/attached.h"
#include "cli/cli.h"
#include "cli/learned.h"
#include "cli/options.h"
#include "base/region.h"
#include "base/text.h"
#include "channel/budget.h"
#include "channel/spool.h"

#include <stdlib.h>
#include <trackway/called.h>

int tw_record_bad_usage(const char *what, const char *value)
{
	tw_usage_error("record", "%s '%s'", what, value);
	return EXIT_OURS;
}

static int set_directory(struct record *r, const char *dir)
{
	r->has_dir = tw_parse_directory(dir, r->dir, sizeof r->dir);
	return r->has_dir ? 0 : tw_record_bad_usage("-o wants the name of a directory (a recording is a directory), not", dir);
}

static int set_format(struct record *r, const char *name)
{
	r->format = tw_format_by_name(name);
	r->has_format = 1;
	if (r->format >= 0 && r->format != TW_FORMAT_DEP_S)
		return 0;
	return tw_record_bad_usage(
	    "the formats are dep, dep-c, call, none, bb_pc, mem_addr, bb_pc+mem_addr, dep06, dep06-c and cf_bit, not", name);
}

static int set_sink(struct record *r, const char *name)
{
	r->sink = tw_sink_by_name(name);
	return r->sink >= 0 ? 0 : tw_record_bad_usage("the sinks are file and count, not", name);
}

static int set_follow(struct record *r, const char *name)
{
	r->follow = tw_follow_by_name(name);
	return r->follow >= 0 ? 0 : tw_record_bad_usage("--follow wants all or none, not", name);
}

static int set_names(struct record *r, const char *when)
{
	r->names_later = !strcmp(when, "later");
	return r->names_later || !strcmp(when, "now") ? 0 : tw_record_bad_usage("--names wants now or later, not", when);
}

static int set_wait(struct record *r, const char *text)
{
	r->wait_first = !strcmp(text, "first");
	return r->wait_first || !strcmp(text, "all") ? 0 : tw_record_bad_usage("--wait wants all or first, not", text);
}

static int set_where(struct tw_where *where, const char **as_given, const char *text)
{
	*as_given = text;
	return tw_where_parse(text, where)
	           ? 0
	           : tw_record_bad_usage("--start and --stop want a function, 0xADDRESS, time (2.5s) or count (5Mi), not", text);
}

static int set_budget(struct record *r, const char *text)
{
	r->budget_as_given = text;
	return tw_budget_parse(text, &r->budget)
	           ? 0
	           : tw_record_bad_usage("--budget wants a share from 0.1% to 1000% or a time from 100us, not", text);
}

static int set_period(struct record *r, const char *text)
{
	r->period_as_given = text;
	return tw_budget_parse_period(text, &r->budget)
	           ? 0
	           : tw_record_bad_usage("--period wants a time from 1ms to 1000s, such as 500ms, not", text);
}

/* Which of n names the text is; n: none of them. */
static uint32_t which(const char *const *names, uint32_t n, const char *text)
{
	uint32_t k = 0;
	while (k < n && strcmp(names[k], text))
		k++;
	return k;
}

static int set_switch(struct record *r, const char *text)
{
	uint32_t k = 0;
	while (k < TW_SWITCHES && strcmp(tw_budget_switch_name(k), text))
		k++;
	r->switch_as_given = text;
	if (k == TW_SWITCHES)
		return tw_record_bad_usage(
		    "--switch wants asynchronous, trace-version, trace-version-conditional or trace-conditional, not", text);
	r->switches = k;
	return 0;
}

static int set_per(struct record *r, const char *text)
{
	r->per_as_given = text;
	r->budget.per_thread = !strcmp(text, "thread");
	return r->budget.per_thread || !strcmp(text, "program") ? 0
	                                                        : tw_record_bad_usage("--budget-per wants program or thread, not", text);
}

static int set_ring(struct record *r, const char *text)
{
	r->ring_as_given = text;
	return tw_ring_parse(text, &r->ring) ? tw_record_bad_usage("--ring wants a size (64M) or a time (10s), not", text) : 0;
}

/* It is where recording stops: what the ring has then stays. */
static int set_keep_when(struct record *r, const char *text)
{
	r->keep_when = text;
	r->stop_at = text;
	return tw_where_parse(text, &r->stop) && (r->stop.kind == TW_WHERE_FUNCTION || r->stop.kind == TW_WHERE_ADDRESS)
	           ? 0
	           : tw_record_bad_usage("--keep-when wants a function or 0xADDRESS, not", text);
}

static int check_ring(const struct record *r)
{
	if (r->keep_when && !r->ring_as_given)
		return tw_record_bad_usage("--ring is required for", "--keep-when");
	if (!r->ring_as_given)
		return 0;
	if (r->keep_when && r->stop_at != r->keep_when)
		return tw_record_bad_usage("--keep-when cannot be combined with", "--stop");
	if (r->format == TW_FORMAT_NONE || r->sink == TW_SINK_COUNT)
		return tw_record_bad_usage("--ring has no effect with", r->sink == TW_SINK_COUNT ? "--sink=count" : "-f none");
	return 0;
}

static int set_spool(struct record *r, const char *text)
{
	r->spool_as_given = text;
	if (!tw_parse_bytes(text, &r->spool))
		return tw_record_bad_usage("--spool wants a size such as 500M or 2G, or 0, not", text);
	return !r->spool || r->spool >= TW_SPOOL_LEAST ? 0 : tw_record_bad_usage("--spool wants 64M or more, or 0, not", text);
}

static int set_limit(struct record *r, int is_size, const char *text)
{
	if (is_size ? tw_ending_size(&r->ending, text) : tw_ending_time(&r->ending, text))
		return 0;
	return tw_record_bad_usage(
	    is_size ? "--max-size wants a size such as 500M or 2G, not" : "--max-time wants a time such as 90s or 300ms, not", text);
}

static int set_learn_what(struct record *r, const char *text)
{
	r->learn_what = tw_learned_what(text);
	return r->learn_what ? 0 : tw_record_bad_usage("--learn-what wants blocks, branches, calls, all, cct or refs, not", text);
}

static int set_log(struct record *r, const char *text)
{
	static const char *const names[] = {
	    [TW_REGION_EXACT] = "exact", [TW_REGION_HASH] = "hash", [TW_REGION_TREE] = "tree", [TW_REGION_MERGING] = "merging"};
	const uint32_t n = sizeof names / sizeof *names, k = which(names, n, text);
	r->log_as_given = text;
	if (k == n)
		return tw_record_bad_usage("--log wants exact, hash, tree or merging, not", text);
	r->log = k;
	return 0;
}

static int set_until(struct record *r, const char *text)
{
	char *end;
	r->until = strtod(text, &end) / 100;
	const int good = end != text && !strcmp(end, "%") && r->until > 0 && r->until < 1;
	return good ? 0 : tw_record_bad_usage("--until wants a share such as 0.5%, not", text);
}

static int set_show(struct record *r, const char *text)
{
	char *end;
	if (!strcmp(text, "all")) {
		r->dump_all = 1;
		return 0;
	}
	r->dump_pc = strtoull(text, &end, 16);
	return *text && !*end ? 0 : tw_record_bad_usage("--show-fragment wants a hexadecimal address or 'all', not", text);
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
	return tw_record_bad_usage(what, text);
}

/* Calls are told, also of the functions `more`, with commas between. */
static int set_calls(struct record *r, const char *more)
{
	const char *before = r->calls ? r->calls : TW_CALLS_KNOWN;
	char *calls = NULL;
	if (asprintf(&calls, "%s%s%s", before, more && *more ? "," : "", more ? more : "") < 0)
		return tw_record_bad_usage("no memory for", "--calls");
	free(r->calls);
	r->calls = calls;
	return strlen(calls) < TW_CALLS_TEXT ? 0 : tw_record_bad_usage("--calls has too many names:", more);
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
	case 'g':
		return set_log(r, optarg);
	case 'U':
		return set_until(r, optarg);
	case 'p':
		return set_period(r, optarg);
	case 'w':
		return set_switch(r, optarg);
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
	case '4':
		r->plain = 1;
		r->rest = option == '4';
		r->native = 0;
		return 0;
	case 'Y':
		r->native = 1;
		r->plain = r->rest = 0;
		return 0;
	case 'q':
		r->quiet = 1;
		return 0;
	case 'R':
		return set_ring(r, optarg);
	case 'Z':
		return set_spool(r, optarg);
	case '3':
		r->small = 1;
		return 0;
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
		return r->pid ? 0 : tw_record_bad_usage("--pid wants the number of a process, not", optarg);
	default:
		return EXIT_OURS;
	}
}

static int check_budget(struct record *r)
{
	const char *without = r->period_as_given ? "--period" : "--budget-per";
	if (!r->budget_as_given && r->learns_bare)
		r->budget = (struct tw_budget_asked){.period = DEFAULT_PERIOD_NS, .budget = UNLIMITED, .is_share = 1};
	if (r->switch_as_given && (!r->budget_as_given || r->learns_bare))
		return tw_record_bad_usage(r->budget_as_given ? "nothing is recorded, so there is no use for" : "--budget is required for",
		                           "--switch");
	if (r->switches && tw_form_of((uint32_t)r->format) != TW_FORM_PLAIN)
		return tw_record_bad_usage("--switch wants asynchronous in format", tw_format_name((uint32_t)r->format));
	if (!r->budget_as_given)
		return r->period_as_given || r->per_as_given ? tw_record_bad_usage("--budget is required for", without) : 0;
	if (!r->period_as_given)
		r->budget.period = r->learn_what == TW_LEARN_REFS ? LONG_PERIOD_NS : DEFAULT_PERIOD_NS;
	if (r->format == TW_FORMAT_NONE)
		return tw_record_bad_usage("--budget has no effect in format", "none");
	if (r->start_at || r->stop_at)
		return tw_record_bad_usage("--budget cannot be combined with", r->start_at ? "--start" : "--stop");
	if (!r->budget.is_share && r->budget.budget > r->budget.period)
		return tw_record_bad_usage("the period is shorter than --budget", r->budget_as_given);
	return 0;
}

/* What analyzers need that is not recorded by default; what nobody needs is left out. */
static int take_wishes(struct record *r)
{
	const uint32_t needs = tw_with_needs(&r->with);
	if (r->with.n && !r->has_dir && !r->has_format)
		r->format = tw_with_format(&r->with);
	r->order |= (needs & TW_WANTS_ORDER) != 0;
	return (needs & TW_NEEDS_CALLS) && !r->calls ? set_calls(r, NULL) : 0;
}

static int check_ending(const struct record *r)
{
	const char *option = r->ending.size ? "--max-size" : "--max-time";
	if (!r->ending.size && !r->ending.time)
		return 0;
	if (r->format == TW_FORMAT_NONE)
		return tw_record_bad_usage("nothing is recorded in format none, so there is no use for", option);
	if (r->budget.period || r->ring_as_given)
		return tw_record_bad_usage(r->ring_as_given ? "--ring cannot be combined with" : "--budget cannot be combined with",
		                           option);
	if (r->ending.size && (r->sink == TW_SINK_COUNT || (r->with.n && !r->has_dir)))
		return tw_record_bad_usage("no recording is stored, so there is no use for", option);
	return 0;
}

static int check_learn(struct record *r)
{
	if (!r->learn && r->log_as_given)
		return tw_record_bad_usage("--learn is required for", "--log");
	if (!r->learn)
		return r->learn_what != TW_LEARN_ALL || r->runs != 1 || r->until > 0
		           ? tw_record_bad_usage("--learn is required for", r->learn_what != TW_LEARN_ALL ? "--learn-what"
		                                                            : r->runs != 1                ? "--runs"
		                                                                                          : "--until")
		           : 0;
	if (!r->has_format)
		r->format = r->learn_what == TW_LEARN_REFS ? TW_FORMAT_DEP : TW_FORMAT_DEP_C;
	r->learns_bare = !(r->learn_what & ~(unsigned)TW_LEARN_ALL) && !r->has_format && !r->has_dir && !r->verify && !r->order &&
	                 !r->calls && !r->start_at && !r->stop_at && !r->ending.size && !r->ending.time;
	if (r->log && !r->learns_bare)
		return tw_record_bad_usage("--log wants exact when something is recorded, not", r->log_as_given);
	if (r->until > 0 && r->runs == 1)
		r->runs = MOST_RUNS;
	if (!r->runs)
		return tw_record_bad_usage("--runs wants at least 1, not", "0");
	if (r->runs > 1 && r->pid)
		return tw_record_bad_usage("--runs cannot be combined with", "--pid");
	if (r->format == TW_FORMAT_NONE || r->format == TW_FORMAT_MEM_ADDR)
		return tw_record_bad_usage("--learn is not available in format", tw_format_name((uint32_t)r->format));
	if (r->learn_what == TW_LEARN_REFS && !tw_format_has_refs((uint32_t)r->format))
		return tw_record_bad_usage("--learn-what=refs is not available in format", tw_format_name((uint32_t)r->format));
	if (r->learn_what == TW_LEARN_CCT && tw_form_of((uint32_t)r->format) != TW_FORM_PLAIN)
		return tw_record_bad_usage("--learn-what=cct is not available in format", tw_format_name((uint32_t)r->format));
	if (r->with.n || r->sink == TW_SINK_COUNT || r->wait_first || r->ring_as_given)
		return tw_record_bad_usage("--learn cannot be combined with", r->ring_as_given           ? "--ring"
		                                                              : r->with.n                ? "--with"
		                                                              : r->sink == TW_SINK_COUNT ? "--sink=count"
		                                                                                         : "--wait=first");
	return 0;
}

int tw_record_parse(struct record *r, int argc, char **argv)
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
	    {"log", required_argument, NULL, 'g'},
	    {"budget", required_argument, NULL, 'b'},
	    {"period", required_argument, NULL, 'p'},
	    {"budget-per", required_argument, NULL, 'T'},
	    {"switch", required_argument, NULL, 'w'},
	    {"keep", required_argument, NULL, 'K'},
	    {"names", required_argument, NULL, 'N'},
	    {"wait", required_argument, NULL, 'W'},
	    {"verify", no_argument, NULL, 'v'},
	    {"with", required_argument, NULL, 'X'},
	    {"order", no_argument, NULL, 'O'},
	    {"quiet", no_argument, NULL, 'q'},
	    {"plain", no_argument, NULL, 'P'},
	    {"rest", no_argument, NULL, '4'},
	    {"pid", required_argument, NULL, 'A'},
	    {"ring", required_argument, NULL, 'R'},
	    {"keep-when", required_argument, NULL, 'Q'},
	    {"spool", required_argument, NULL, 'Z'},
	    {"small", no_argument, NULL, '3'},
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
			return fputs(tw_record_help, stdout) < 0;
		if (option == '?' || option == ':')
			tw_wrong_option(&set, option, argv);
		int status = set_option(r, option);
		if (status)
			return status;
	}
	r->command_argc = argc - optind;
	r->command_argv = argv + optind;
	if (r->pid && r->command_argc)
		return tw_record_bad_usage("--pid records a running process, so there can be no command, such as", r->command_argv[0]);
	if (r->pid && (r->wait_first || r->plain))
		return tw_record_bad_usage("--pid cannot be combined with", r->rest ? "--rest" : r->plain ? "--plain" : "--wait=first");
	if (r->command_argc < 1 && !r->pid) {
		tw_usage_error("record", "there is no command to run");
		return EXIT_OURS;
	}
	if (r->small && (r->sink == TW_SINK_COUNT || r->format == TW_FORMAT_NONE))
		return tw_record_bad_usage("--small has no recording to compress with",
		                           r->sink == TW_SINK_COUNT ? "--sink=count" : "-f none");
	if (r->verify && !tw_format_has_refs((uint32_t)r->format))
		return tw_record_bad_usage("--verify has nothing to compare in format", tw_format_name((uint32_t)r->format));
	if (r->verify && r->wait_first)
		return tw_record_bad_usage("--verify reports when all processes have ended; it cannot be combined with --wait", "first");
	if (r->with.n && r->verify)
		return tw_record_bad_usage("--verify cannot be combined with", "--with");
	if (take_wishes(r) || (r->with.n && tw_with_check(&r->with, (uint32_t)r->format, r->order)))
		return EXIT_OURS;
	if (r->order && r->format == TW_FORMAT_NONE)
		return tw_record_bad_usage("--order has no effect in format", "none");
	if (r->order && tw_form_of((uint32_t)r->format) == TW_FORM_BITS)
		return tw_record_bad_usage("--order is not available in format", tw_format_name((uint32_t)r->format));
	if (r->calls && (r->format == TW_FORMAT_NONE || tw_form_of((uint32_t)r->format) == TW_FORM_BITS))
		return tw_record_bad_usage("--calls is not available in format", tw_format_name((uint32_t)r->format));
	if ((r->start_at || r->stop_at) && r->format == TW_FORMAT_NONE)
		return tw_record_bad_usage("--start and --stop have no effect in format", "none");
	if (check_learn(r) || check_budget(r) || check_ring(r) || check_ending(r) || tw_burst_check(&r->burst))
		return EXIT_OURS;
	if (r->start.kind && r->start.kind != TW_WHERE_COUNT && !memcmp(&r->start, &r->stop, sizeof r->start))
		return tw_record_bad_usage("--start and --stop are both", r->start_at);
	return -1;
}

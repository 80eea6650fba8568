/* trackway record: runs a program under the engine, collects, stores. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/where.h"
#include "channel/collector.h"
#include "channel/keep.h"
#include "channel/launch.h"
#include "channel/machine.h"
#include "recording/recording.h"
#include "replay/verify.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Exit statuses of ours, as env(1) and timeout(1) have them; every other one is the program's. */
enum { EXIT_MISMATCH = 3, EXIT_OURS = 125 };

struct record {
	/* options */
	char dir[PATH_MAX];
	int has_dir, quiet, verify, order;
	int format, sink, follow;
	const char *start_at, *stop_at;
	struct tw_where start, stop;
	uint64_t dump_pc;
	int dump_all;
	uint32_t hot, versions, share;
	const char *keep; /* as given */
	/* the run */
	int command_argc;
	char **command_argv;
	struct tw_command program;
	char *engine;
	struct tw_writer *writer;
	struct tw_verify *comparator;
	struct tw_collector *collector;
	struct tw_output_result result;
	struct tw_recording_info end;
	struct tw_moment begun;
	struct tw_collector_shares shares;
};

static const char help[] = "Usage: trackway record [OPTION...] [--] COMMAND [ARGUMENT...]\n\n"
                           "Runs COMMAND and records each basic block and memory reference of it. Its input,\n"
                           "output and exit status are its own.\n\n"
                           "  -o DIR                 where the recording goes; default NAME.tw, with NAME\n"
                           "                         the command's. A recording that is there already is\n"
                           "                         kept as DIR.old\n"
                           "  -f FORMAT              dep (default); dep-c (control flow only); call (slow,\n"
                           "                         simple); none (only run); to compare with: bb_pc,\n"
                           "                         mem_addr, bb_pc+mem_addr, dep06, dep06-c, cf_bit\n"
                           "  --sink=file            store the recording (default)\n"
                           "  --sink=count           count and discard; store only totals and modules\n"
                           "  --follow=all|none      record child processes too (default), or let them run\n"
                           "                         natively\n"
                           "  --start=WHERE          record from here on: FUNCTION, MODULE!FUNCTION,\n"
                           "                         0xADDRESS, a time since the start (2.5s, 300ms) or a\n"
                           "                         count of instructions (1000000i, 5Mi)\n"
                           "  --stop=WHERE           record no more from here on\n"
                           "  --verify               compare every reference with what the program did\n"
                           "  --order                time stamps before and after each locked instruction\n"
                           "                         and fence (trackway dump --order)\n"
                           "  --hot=N                code met N times in what was recorded is translated\n"
                           "                         again, as superblocks; default 16, 0: never\n"
                           "  --versions=N           at most N superblocks begin at one address, each for\n"
                           "                         another set of known registers; default 8\n"
                           "  --share=MB             memory for translations that processes which run the\n"
                           "                         same program leave each other, with -f none; default:\n"
                           "                         an eighth of all, at most 1024; 0: none\n"
                           "  --keep=DIR|none        where they are kept for the next recording; default\n"
                           "                         ~/.cache/trackway/translations; `none`: nowhere\n"
                           "  --show-fragment=ADDR   print the translation of the code at ADDR, in hex, on\n"
                           "                         stderr; `all` for all code\n"
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

static int set_where(struct tw_where *where, const char **as_given, const char *text)
{
	*as_given = text;
	return tw_where_parse(text, where)
	           ? 0
	           : bad_usage("--start and --stop want a function, 0xADDRESS, time (2.5s) or count (5Mi), not", text);
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
	case 'B':
		return set_where(&r->start, &r->start_at, optarg);
	case 'E':
		return set_where(&r->stop, &r->stop_at, optarg);
	case 'F':
		return set_show(r, optarg);
	case 'H':
		return set_number(&r->hot, "--hot", 1000000000, optarg);
	case 'V':
		return set_number(&r->versions, "--versions", 1000, optarg);
	case 'S':
		return set_number(&r->share, "--share", TW_STORE_BYTES >> 20, optarg);
	case 'K':
		r->keep = optarg;
		return 0;
	case 'v':
		r->verify = 1;
		return 0;
	case 'O':
		r->order = 1;
		return 0;
	case 'q':
		r->quiet = 1;
		return 0;
	default:
		return EXIT_OURS;
	}
}

/* Returns -1 to go on, or the exit status. */
static int parse(struct record *r, int argc, char **argv)
{
	static const struct option options[] = {
	    {"output", required_argument, NULL, 'o'},   {"format", required_argument, NULL, 'f'},
	    {"sink", required_argument, NULL, 's'},     {"show-fragment", required_argument, NULL, 'F'},
	    {"start", required_argument, NULL, 'B'},    {"stop", required_argument, NULL, 'E'},
	    {"follow", required_argument, NULL, 'C'},   {"hot", required_argument, NULL, 'H'},
	    {"versions", required_argument, NULL, 'V'}, {"share", required_argument, NULL, 'S'},
	    {"keep", required_argument, NULL, 'K'},     {"verify", no_argument, NULL, 'v'},
	    {"order", no_argument, NULL, 'O'},          {"quiet", no_argument, NULL, 'q'},
	    {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
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
	if (r->command_argc < 1) {
		tw_usage_error("record", "there is no command to run");
		return EXIT_OURS;
	}
	if (r->verify && !tw_format_has_refs((uint32_t)r->format))
		return bad_usage("--verify has nothing to compare in format", tw_format_name((uint32_t)r->format));
	if (r->order && r->format == TW_FORMAT_NONE)
		return bad_usage("--order is of no use in format", "none");
	if (r->order && tw_form_of((uint32_t)r->format) == TW_FORM_BITS)
		return bad_usage("--order cannot be had in format", tw_format_name((uint32_t)r->format));
	if ((r->start_at || r->stop_at) && r->format == TW_FORMAT_NONE)
		return bad_usage("--start and --stop are of no use in format", "none");
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

static int no_memory(int why)
{
	fprintf(
	    stderr,
	    "trackway record: a limit on memory is set (ulimit -v or -d) and cannot be raised by the %llu GB that recording needs: %s\n",
	    (unsigned long long)(TW_ENGINE_SPACE_BYTES >> 30), strerror(why));
	return EXIT_OURS;
}

static int prepare_program(struct record *r)
{
	int status = tw_command_resolve(r->command_argc, r->command_argv, &r->program);
	if (status) {
		fprintf(stderr, "trackway record: %s\n", r->program.why);
		return status;
	}
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
	const char *name = strrchr(r->command_argv[0], '/');
	name = name ? name + 1 : r->command_argv[0];
	snprintf(r->dir, sizeof r->dir, "%.*s.tw", NAME_MAX - 8, name);
}

static int create_recording(struct record *r)
{
	struct utsname uts;
	char cpu[64], cwd[PATH_MAX] = "", kernel[sizeof uts.release + sizeof uts.sysname + 2];
	uname(&uts);
	tw_machine_cpu(cpu);
	if (!getcwd(cwd, sizeof cwd))
		cwd[0] = 0;
	snprintf(kernel, sizeof kernel, "%s %s", uts.sysname, uts.release);
	struct tw_recording_info info = {
	    .format = (uint32_t)r->format,
	    .sink = (uint32_t)r->sink,
	    .follow = (uint32_t)r->follow,
	    .start_at = (char *)r->start_at,
	    .stop_at = (char *)r->stop_at,
	    .start = time(NULL),
	    .tsc_start = r->begun.tsc,
	    .tsc_invariant = (uint32_t)tw_machine_tsc_invariant(),
	    .order = (uint32_t)r->order,
	    .argc = r->command_argc,
	    .argv = r->command_argv,
	    .program = r->program.path,
	    .cwd = cwd,
	    .host = uts.nodename,
	    .cpu = cpu,
	    .kernel = kernel,
	};
	tw_machine_xstate(&info.xstate);
	int error = tw_directory_prepare(r->dir);
	if (error)
		return error;
	error = tw_writer_create(r->dir, &info, &r->writer);
	if (error)
		tw_directory_abandon(r->dir);
	return error;
}

static int prepare_recording(struct record *r)
{
	if (r->format == TW_FORMAT_NONE && !r->has_dir)
		return 0;
	if (!r->has_dir)
		default_directory(r);
	r->begun = tw_machine_now();
	int error = create_recording(r);
	return error ? own_error(r, error) : 0;
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

static int start_collector(struct record *r)
{
	char path[TW_KEEP_PATH];
	struct tw_collector_options options = {
	    .format = (uint32_t)r->format,
	    .verify = r->verify,
	    .start = r->start,
	    .stop = r->stop,
	    .no_follow = r->follow == TW_FOLLOW_NONE,
	    .order = r->order,
	    .discard = r->sink == TW_SINK_COUNT,
	    .writer = r->writer,
	    .dump_pc = r->dump_pc,
	    .dump_all = r->dump_all,
	    .hot = r->hot,
	    .versions = r->versions,
	    .share = (uint64_t)r->share << 20,
	    .keep = place_to_keep(r, path),
	    .must_keep = r->keep != NULL,
	    .check = r->verify ? check_chunk : NULL,
	    .check_context = r,
	};
	int error = tw_collector_new(&options, &r->collector);
	return error ? own_error(r, error) : 0;
}

static void stop(void *context)
{
	tw_collector_stop(context);
}

/* The program has ended; what it left behind is recorded to its end. */
static void wait_for_others(struct record *r)
{
	enum { PATIENCE_MS = 1000 };
	unsigned n = tw_collector_end(r->collector, PATIENCE_MS);
	if (n && !r->quiet)
		fprintf(
		    stderr,
		    "trackway: %s has ended; %u process%s it left behind %s on and %s recorded to the end, or until SIGINT or SIGTERM\n",
		    r->command_argv[0], n, n == 1 ? "" : "es", n == 1 ? "goes" : "go", n == 1 ? "is" : "are");
}

static int run(struct record *r)
{
	uint64_t start = tw_machine_ns();
	struct tw_launch launch = {
	    .engine = r->engine,
	    .channel = tw_collector_path(r->collector),
	    .program = &r->program,
	    .stop = stop,
	    .context = r->collector,
	};
	int why = tw_launch_run(&launch, &r->end.wait_status);
	r->end.duration_ns = tw_machine_ns() - start;
	wait_for_others(r);
	tw_collector_finish(r->collector, &r->result);
	r->shares = tw_collector_shares(r->collector);
	tw_launch_end();
	if (!why)
		return 0;
	fprintf(stderr, "trackway record: the engine %s cannot be started: %s\n", r->engine, strerror(why));
	snprintf(r->result.failure, sizeof r->result.failure, "the engine could not be started: %s", strerror(why));
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
	if (r->start.kind == TW_WHERE_TIME && !w.opened)
		fprintf(stderr, "trackway: nothing was recorded: no code of the program ran after %s%s%s\n", r->start_at,
		        r->stop_at ? " and before " : "", r->stop_at ? r->stop_at : "");
	else if (r->start.kind && !w.opened)
		fprintf(stderr, "trackway: nothing was recorded: %s was not %s\n", r->start_at, w.start_found ? "reached" : "found");
	else if (!w.stop_found)
		fprintf(stderr, "trackway: recording went on to the end: %s was not found\n", r->stop_at);
}

static void close_recording(struct record *r)
{
	look_at_window(r);
	r->end.complete = !r->result.failure[0];
	r->end.failure = r->result.failure;
	r->end.totals = r->result.totals;
	const struct tw_moment ended = tw_machine_now();
	r->end.tsc_hz = tw_machine_tsc_hz(&r->begun, &ended);
	if (r->result.failure[0] && !r->result.said)
		fprintf(stderr, "trackway: the recording is incomplete: %s\n", r->result.failure);
	int error = r->writer ? tw_writer_close(r->writer, &r->end) : TW_OK;
	if (error)
		own_error(r, error);
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

static void print_summary(const struct record *r)
{
	const struct tw_totals *t = &r->result.totals;
	if (r->quiet)
		return;
	if (r->format == TW_FORMAT_NONE)
		fprintf(stderr, "trackway: nothing recorded (format none)");
	else
		fprintf(stderr, "trackway: %llu instructions", (unsigned long long)t->insns);
	if (tw_format_has_refs((uint32_t)r->format))
		fprintf(stderr, ", %llu references", (unsigned long long)t->refs);
	if (r->writer && r->format != TW_FORMAT_NONE && r->sink == TW_SINK_FILE)
		print_stored(r);
	else if (r->writer)
		fprintf(stderr, ", totals in %s", r->dir);
	fprintf(stderr, ", %.2f s", (double)r->end.duration_ns / 1e9);
	if (r->shares.shared || r->shares.forks)
		fprintf(stderr, "; %u of %u programs and %u forks began with translations of others", r->shares.shared, r->shares.programs,
		        r->shares.forks);
	fputc('\n', stderr);
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
	if (r->result.mismatch)
		status = EXIT_MISMATCH;
	if (status)
		return status;
	print_summary(r);
	return end_like(r->end.wait_status);
}

/* What was made of a recording that cannot begin. */
static void abandon(struct record *r)
{
	r->end.failure = "recording could not begin";
	if (r->writer)
		tw_writer_close(r->writer, &r->end);
	tw_verify_free(r->comparator);
}

/* --share where it is not given, in MB. */
static uint32_t default_share(void)
{
	uint64_t most = tw_machine_memory() / 8;
	return (uint32_t)((most < TW_STORE_BYTES ? most : TW_STORE_BYTES) >> 20);
}

int tw_cmd_record(int argc, char **argv)
{
	struct record r = {.format = TW_FORMAT_DEP, .hot = 16, .versions = 8, .share = default_share()};
	int why = tw_launch_prepare(), status = parse(&r, argc, argv);
	if (status >= 0)
		return status;
	if (why)
		return no_memory(why);
	status = prepare_program(&r);
	if (!status)
		status = prepare_recording(&r);
	if (!status)
		status = prepare_verify(&r);
	if (!status)
		status = start_collector(&r);
	if (status)
		abandon(&r);
	else
		status = finish(&r, run(&r));
	tw_collector_free(r.collector);
	tw_command_free(&r.program);
	free(r.engine);
	return status;
}

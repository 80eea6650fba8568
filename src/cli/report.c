/* trackway report: costs of a recording's functions, lines and blocks, callers and callees, and what the program died of. */
#include "cli/report_state.h"
#include "cli/cli.h"
#include "cli/how_far.h"
#include "cli/last.h"
#include "cli/options.h"
#include "recording/recording.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "Usage: trackway report [OPTION]... DIR\n\n"
                           "Shows what the functions of a recording cost in instructions and memory\n"
                           "references: without (self) and with (incl.) the functions they call. All counts\n"
                           "are exact, not samples.\n\n"
                           "What to show:\n"
                           "  --functions    functions (default)\n"
                           "  --lines        source lines with their text; inlined code counts for the\n"
                           "                 function it was inlined from\n"
                           "  --memory       the lines with most references: bytes, distinct cache lines,\n"
                           "                 most frequent stride (replays once more)\n"
                           "  --blocks       basic blocks\n"
                           "  --callers F    the callers of function F, and what their calls of it cost\n"
                           "  --callees F    the functions that F calls, and what these calls cost\n"
                           "  --tree         the call tree: each function below its caller\n"
                           "  --last N       the last N blocks of a thread with their source lines: of the\n"
                           "                 thread that the program died in, or of --thread T\n"
                           "  --html FILE    write an HTML page: timeline, flame graph, functions with\n"
                           "                 source and code, memory over time, call graph\n\n"
                           "Which part, in which order:\n"
                           "  -n TOP         number of rows (0: all; default for text 20, for the tree 50)\n"
                           "  --sort KEY     by self (default), incl, refs, reads, writes, calls or name\n"
                           "  --function F   only rows of function F\n"
                           "  --module M     only rows of file M: a path or its last part\n"
                           "  --thread T     only this thread, numbered from 0 as in trackway info\n"
                           "  --process PID  only this process\n"
                           "  --from WHEN    from this point on: instructions of a thread (20000i, 5Mi), or\n"
                           "                 a time since the start (2.5s)\n"
                           "  --to WHEN      up to this point\n"
                           "  --self         without inclusive costs: faster, uses all processors\n\n"
                           "Output, in one form or several (standard output without FILE, or if it is -):\n"
                           "  --text[=FILE]  as text (default)\n"
                           "  --json[=FILE], --csv[=FILE]\n"
                           "                 for other programs; all rows, unless -n is given\n"
                           "  --no-demangle  print C++ and Rust names in mangled form\n"
                           "  -j N           replay with N threads (default: one per processor)\n"
                           "  --help         print this help\n\n"
                           "For example, the functions that cost most in gzip, and the costliest lines:\n\n"
                           "  trackway record -- gzip -9k file\n"
                           "  trackway report gzip.tw\n"
                           "  trackway report --lines -n 10 gzip.tw\n\n"
                           "Code without symbols is shown as FILE+0xADDRESS. Exit status: 1 if the recording\n"
                           "is damaged (what is readable is shown), or nothing matched; 2 for wrong usage.\n";

enum {
	OPTION_SORT = 256,
	OPTION_SELF,
	OPTION_CALLERS,
	OPTION_CALLEES,
	OPTION_LAST,
	OPTION_THREAD,
	OPTION_PROCESS,
	OPTION_FROM,
	OPTION_TO,
	OPTION_FUNCTION,
	OPTION_MODULE,
	OPTION_MANGLED,
	OPTION_HTML,
	OPTION_FORM,                              /* and the number of the form */
	OPTION_TABLE = OPTION_FORM + REPORT_FORMS /* and the number of the table */
};

static const struct option options[] = {
    {"functions", no_argument, NULL, OPTION_TABLE + REPORT_FUNCTIONS},
    {"lines", no_argument, NULL, OPTION_TABLE + REPORT_LINES},
    {"memory", no_argument, NULL, OPTION_TABLE + REPORT_MEMORY},
    {"blocks", no_argument, NULL, OPTION_TABLE + REPORT_BLOCKS},
    {"callers", required_argument, NULL, OPTION_CALLERS},
    {"callees", required_argument, NULL, OPTION_CALLEES},
    {"tree", no_argument, NULL, OPTION_TABLE + REPORT_TREE},
    {"sort", required_argument, NULL, OPTION_SORT},
    {"self", no_argument, NULL, OPTION_SELF},
    {"last", required_argument, NULL, OPTION_LAST},
    {"thread", required_argument, NULL, OPTION_THREAD},
    {"process", required_argument, NULL, OPTION_PROCESS},
    {"from", required_argument, NULL, OPTION_FROM},
    {"to", required_argument, NULL, OPTION_TO},
    {"function", required_argument, NULL, OPTION_FUNCTION},
    {"module", required_argument, NULL, OPTION_MODULE},
    {"html", required_argument, NULL, OPTION_HTML},
    {"text", optional_argument, NULL, OPTION_FORM + TW_ROWS_TEXT},
    {"json", optional_argument, NULL, OPTION_FORM + TW_ROWS_JSON},
    {"csv", optional_argument, NULL, OPTION_FORM + TW_ROWS_CSV},
    {"no-demangle", no_argument, NULL, OPTION_MANGLED},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};
static const struct tw_option_set set = {"report", ":n:j:h", options};

/* ---- options ---- */

static int set_table(struct report *r, enum report_table table, const char *of)
{
	if (r->table_given && r->table != table)
		return tw_usage_error("report",
		                      "only one of --functions, --lines, --memory, --blocks, --callers, --callees and --tree can be given");
	r->table = table;
	r->of = of;
	r->table_given = 1;
	return -1;
}

static int set_sort(struct report *r, const char *key)
{
	static const char *const keys[] = {"self", "incl", "refs", "reads", "writes", "calls", "name"};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(key, keys[i])) {
			r->sort_given = 1;
			r->sort = (enum report_sort)i;
			return -1;
		}
	return tw_usage_error("report", "--sort wants self, incl, refs, reads, writes, calls or name, not '%s'", key);
}

static int set_number(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *to)
{
	if (tw_parse_number(text, most, to) && *to >= least)
		return -1;
	return tw_usage_error("report", "%s wants a number from %llu to %llu, not '%s'", option, (unsigned long long)least,
	                      (unsigned long long)most, text);
}

static int set_when(const char *option, const char *text, struct tw_where *to)
{
	if (tw_where_parse(text, to) && (to->kind == TW_WHERE_COUNT || to->kind == TW_WHERE_TIME))
		return -1;
	return tw_usage_error("report", "%s wants a count of instructions (20000i, 5Mi) or a time (2.5s), not '%s'", option, text);
}

static int set_thread(struct report *r, const char *text)
{
	uint64_t thread;
	int status = set_number("--thread", text, 0, UINT32_MAX, &thread);
	if (status < 0) {
		r->part.request.view.has_thread = 1;
		r->part.request.view.thread = (uint32_t)thread;
	}
	return status;
}

static int set_process(struct report *r, const char *text)
{
	uint64_t pid;
	int status = set_number("--process", text, 1, UINT32_MAX, &pid);
	if (status < 0)
		r->part.process = (int64_t)pid;
	return status;
}

/* What of the recording is meant. */
static int take_filter(struct report *r, int option)
{
	switch (option) {
	case OPTION_THREAD:
		return set_thread(r, optarg);
	case OPTION_PROCESS:
		return set_process(r, optarg);
	case OPTION_FROM:
		return set_when("--from", optarg, &r->part.request.view.from);
	case OPTION_TO:
		return set_when("--to", optarg, &r->part.request.view.to);
	case OPTION_FUNCTION:
		r->function = optarg;
		return -1;
	default:
		r->module = optarg;
		return -1;
	}
}

/* Returns -1 to go on, or an exit status. */
static int take_option(struct report *r, int option, char **argv)
{
	if (option >= OPTION_TABLE)
		return set_table(r, (enum report_table)(option - OPTION_TABLE), NULL);
	if (option >= OPTION_FORM) {
		r->form[option - OPTION_FORM] = optarg ? optarg : "-";
		return -1;
	}
	if (option >= OPTION_THREAD && option <= OPTION_MODULE)
		return take_filter(r, option);
	switch (option) {
	case OPTION_CALLERS:
		return set_table(r, REPORT_CALLERS, optarg);
	case OPTION_CALLEES:
		return set_table(r, REPORT_CALLEES, optarg);
	case OPTION_SORT:
		return set_sort(r, optarg);
	case OPTION_SELF:
		r->self_only = 1;
		return -1;
	case OPTION_LAST:
		return set_number("--last", optarg, 1, 10000000, &r->last);
	case OPTION_HTML:
		r->html = optarg;
		return -1;
	case OPTION_MANGLED:
		r->naming.mangled = 1;
		return -1;
	case 'n':
		r->top_given = 1;
		return set_number("-n", optarg, 0, UINT32_MAX, &r->top);
	case 'j':
		return set_number("-j", optarg, 1, TW_MAX_JOBS, &r->jobs);
	case 'h':
		return fputs(help, stdout) < 0;
	default:
		return tw_wrong_option(&set, option, argv);
	}
}

/* Options that do not go together. Returns -1 if there are none, or an exit status. */
static int check_options(const struct report *r)
{
	const int rows = r->table_given || r->self_only || r->sort_given || r->function || r->module;
	if (r->self_only && r->table != REPORT_FUNCTIONS && r->table != REPORT_BLOCKS)
		return tw_usage_error("report", "--self is about functions: lines and calls need all");
	if (r->last && (rows || r->html || r->form[TW_ROWS_CSV] || (r->form[TW_ROWS_JSON] && r->form[TW_ROWS_TEXT])))
		return tw_usage_error("report",
		                      "--last shows blocks in order: it can only be combined with --thread and either --text or --json");
	if (r->sort_given && r->table != REPORT_FUNCTIONS && r->table != REPORT_LINES)
		return tw_usage_error("report", "--sort is about functions and lines; other tables have an order of their own");
	if (r->html && !tw_part_is_all(&r->part))
		return tw_usage_error("report",
		                      "--html shows the whole recording: it cannot be combined with options that select a part of it");
	if (r->html && !report_has_tables(r) && (rows || r->top_given))
		return tw_usage_error("report", "--html shows all tables: options that choose one need --text, --json or --csv as well");
	if (report_to_stdout(r) > 1)
		return tw_usage_error("report",
		                      "only one of the outputs can go to standard output; write --text=FILE, --json=FILE, --csv=FILE");
	return -1;
}

static int parse(struct report *r, int argc, char **argv)
{
	int status = -1;
	for (int option; status < 0 && (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;)
		status = take_option(r, option, argv);
	if (status < 0)
		status = check_options(r);
	if (status >= 0)
		return status;
	if (argc - optind > 1 && report_has_tables(r))
		return tw_usage_error("report", "exactly one recording is required; a file to write is named as in --json=FILE");
	if (argc - optind != 1)
		return tw_usage_error("report", "exactly one recording is required");
	if (!r->html && !report_has_tables(r))
		r->form[TW_ROWS_TEXT] = "-";
	r->dir = argv[optind];
	return -1;
}

/* ---- the command ---- */

static int write_last(struct report *r, const struct tw_replay_options *replay)
{
	const int json = r->form[TW_ROWS_JSON] != NULL;
	const struct tw_last_options last = {
	    .f = r->form_file[json ? TW_ROWS_JSON : TW_ROWS_TEXT].f,
	    .blocks = r->last,
	    .thread = r->part.request.view.has_thread ? (int64_t)r->part.request.view.thread : -1,
	    .json = json,
	    .replay = *replay,
	};
	return tw_last_print(r->recording, r->names, &last);
}

static int write_costs(struct report *r, const struct tw_replay_options *replay)
{
	const struct tw_costs_options costs = {
	    .self_only = r->self_only || r->table == REPORT_BLOCKS || r->table == REPORT_TREE,
	    .no_lines = r->table == REPORT_FUNCTIONS && !r->function,
	    .run = tw_part_replay,
	    .run_context = &r->part,
	    .replay = *replay,
	};
	int error = tw_costs_run(r->recording, r->names, &costs, &r->costs);
	if (error)
		return error;
	tw_names_report("report", r->names);
	return report_tables(r, replay);
}

/* Damage of which the tables' replay has told. */
static int pass_over(void *context, size_t thread, size_t chunk, int error)
{
	(void)context, (void)thread, (void)chunk, (void)error;
	return 0;
}

static int write_all(struct report *r, const struct tw_replay_options *replay)
{
	struct tw_replay_options quiet = *replay;
	if (r->last)
		return write_last(r, replay);
	int status = report_has_tables(r) ? write_costs(r, replay) : 0;
	if (status < 0 || !r->html)
		return status;
	if (report_has_tables(r))
		quiet.damage = pass_over;
	int error = report_page(r, &quiet);
	return error ? error : status;
}

static int run(struct report *r)
{
	struct tw_damage damage = {.command = "report", .recording = r->recording};
	struct tw_how_far how_far = {.command = "report"};
	const struct tw_replay_options replay = tw_how_far_replay(&how_far, &damage, r->jobs);
	size_t problems = tw_problems_report("report", r->recording);
	int error = tw_recording_replayable(r->recording);
	if (error)
		return tw_recording_error("report", r->dir, error);
	int status = report_open_files(r);
	if (!status)
		status = tw_part_open(&r->part, "report", r->recording);
	if (status)
		return status;
	r->names = tw_names_open(r->recording, &r->naming);
	error = r->names ? write_all(r, &replay) : TW_ERR_MEMORY;
	if (error < 0)
		return tw_recording_error("report", r->dir, error);
	r->written = 1;
	return error ? error : problems || damage.chunks;
}

int tw_cmd_report(int argc, char **argv)
{
	struct report *r = calloc(1, sizeof *r);
	if (!r)
		return tw_recording_error("report", "", TW_ERR_MEMORY);
	r->jobs = tw_default_jobs();
	r->part.process = -1;
	int status = parse(r, argc, argv);
	if (status < 0) {
		int error = tw_recording_open(r->dir, &r->recording);
		status = error ? tw_recording_error("report", r->dir, error) : run(r);
		status |= report_close_files(r, r->written);
	}
	tw_context_tree_free(&r->calls);
	tw_absent_free(&r->absent);
	tw_costs_free(&r->costs);
	tw_part_close(&r->part);
	tw_names_close(r->names);
	tw_recording_close(r->recording);
	free(r);
	return status;
}

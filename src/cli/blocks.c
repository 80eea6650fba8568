/* trackway blocks: static and dynamic basic blocks, how they end, and what runs after them. */
#include "cli/blocks_json.h"
#include "cli/budget.h"
#include "cli/cli.h"
#include "cli/exports.h"
#include "cli/how_far.h"
#include "cli/options.h"
#include "export/outfile.h"
#include "import/profile.h"
#include "names/absent.h"
#include "recording/recording.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] = "Usage: trackway blocks [OPTION]... INPUT\n\n"
                           "Shows the static and dynamic basic blocks of an execution, how each ends, and\n"
                           "what ran after it how often. INPUT is a recording; or a trace written by\n"
                           "`valgrind --tool=lackey --trace-mem=yes`, plain or compressed (.gz, .xz, .zst);\n"
                           "or - for such a trace on standard input.\n\n"
                           "  -o PREFIX       write all blocks to PREFIX_SBB_profile.txt (static) and\n"
                           "                  PREFIX_DBB_profile.txt (dynamic)\n"
                           "  --json, --csv   print all blocks, for other programs\n"
                           "  --dot, --svg    print the control-flow graph of the static blocks (Graphviz)\n"
                           "  --superblocks   show only the likely paths\n"
                           "  -n TOP          number of blocks and paths shown (default 10; 0: all)\n"
                           "  -a              show all edges, also those of IJ blocks below --threshold\n"
                           "  --threshold P   omit edges of an IJ block taken in less than P % of its\n"
                           "                  executions (default 10)\n"
                           "  --function F    graph: only the blocks of function F (recordings)\n"
                           "  --nodes N       graph: only the N hottest blocks (default 60; 0: all)\n"
                           "  --edge P        paths: follow edges taken in at least P % of a block's\n"
                           "                  executions (default 70)\n"
                           "  --path P        paths: stop when the probability of getting there is below P %\n"
                           "                  (default 50)\n"
                           "  --no-demangle   print C++ and Rust names in mangled form\n"
                           "  -j N            replay with N threads (recordings; default: one per processor)\n"
                           "  --help          print this help\n\n" TW_EXPORT_HELP "\n"
                           "For example:\n\n"
                           "  trackway blocks -o gzip gzip.tw\n"
                           "  valgrind --tool=lackey --trace-mem=yes --log-fd=9 ls 9>&1 >/dev/null |\n"
                           "    trackway blocks -\n\n"
                           "Exit status: 1 if there is nothing to profile, or parts of the recording are\n"
                           "damaged and were left out.\n";

enum output { SUMMARY, JSON, CSV, DOT, SVG, SUPERBLOCKS };

struct blocks {
	/* options */
	const char *input, *prefix;
	enum output output;
	struct tw_superblock_options path;
	struct tw_graph_options graph;
	double threshold;
	uint64_t top, jobs;
	int has_nodes; /* --nodes was given */
	struct tw_names_options naming;
	struct tw_exports exports;
	/* what was found */
	struct tw_recording *recording; /* NULL: the input is a trace */
	struct tw_names *names;
	struct tw_profile profile;
	struct tw_superblocks paths;
};

static int failed(const struct blocks *b, int error)
{
	return tw_recording_error("blocks", strcmp(b->input, "-") ? b->input : "standard input", error);
}

/* ---- output ---- */

static int write_file(const struct blocks *b, const struct tw_blocks_report *r, const struct tw_profile_blocks *all, const char *kind,
                      const char *suffix)
{
	char *name;
	if (asprintf(&name, "%s%s", b->prefix, suffix) < 0)
		return failed(b, tw_fail(TW_ERR_MEMORY, "name"));
	struct tw_outfile to;
	int error = tw_outfile_open(&to, name);
	if (!error) {
		tw_blocks_text(to.f, r, all, kind);
		error = tw_outfile_close(&to, 1);
	}
	free(name);
	return error ? failed(b, error) : 0;
}

static int write_files(const struct blocks *b, const struct tw_blocks_report *r)
{
	return write_file(b, r, &r->profile->fixed, "Static", "_SBB_profile.txt") ||
	       write_file(b, r, &r->profile->dynamic, "Dynamic", "_DBB_profile.txt");
}

/* Has Graphviz's dot turn `graph` into SVG on standard output. */
static int run_dot(FILE *graph)
{
	extern char **environ;
	char *argv[] = {"dot", "-Tsvg", NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;
	if (fflush(graph) || fseek(graph, 0, SEEK_SET))
		return tw_fail(TW_ERR_SYSTEM, "temporary file: %s", strerror(errno));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fileno(graph), STDIN_FILENO);
	int error = posix_spawnp(&pid, "dot", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		return tw_fail(TW_ERR_SYSTEM, "--svg needs Graphviz, but dot cannot be run: %s", strerror(error));
	if (waitpid(pid, &status, 0) < 0)
		return tw_fail(TW_ERR_SYSTEM, "waiting for Graphviz's dot: %s", strerror(errno));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE)
		return 0; /* who reads only the beginning of our output means no harm */
	return status ? tw_fail(TW_ERR_SYSTEM, "Graphviz's dot failed") : 0;
}

static int print_svg(const struct blocks *b, const struct tw_blocks_report *r)
{
	FILE *f = tmpfile();
	if (!f)
		return tw_fail(TW_ERR_SYSTEM, "temporary file: %s", strerror(errno));
	int error = tw_blocks_graph(f, r, &b->graph);
	if (!error)
		error = run_dot(f);
	fclose(f);
	return error;
}

/* There is nothing to draw of a function: why. */
static int tell_absent(const struct blocks *b)
{
	struct tw_absent absent;
	int error = tw_absent_look(b->recording, b->graph.function, NULL, &absent);
	char *sentence = error ? NULL : tw_absent_sentence(&absent, b->graph.function);
	error = sentence ? tw_fail(TW_ERR_SYSTEM, "%s", sentence) : TW_ERR_MEMORY;
	tw_absent_free(&absent);
	free(sentence);
	return error;
}

static int print(const struct blocks *b, const struct tw_blocks_report *r)
{
	int error = 0;
	switch (b->output) {
	case SUMMARY:
		if (!b->prefix)
			tw_blocks_summary(stdout, r, &b->paths, b->top);
		break;
	case JSON:
		tw_blocks_json(stdout, r, &b->paths);
		break;
	case CSV:
		tw_blocks_csv(stdout, r);
		break;
	case DOT:
		error = tw_blocks_graph(stdout, r, &b->graph);
		break;
	case SVG:
		error = print_svg(b, r);
		break;
	case SUPERBLOCKS:
		tw_blocks_superblocks(stdout, r, &b->paths);
		break;
	}
	if (error > 0)
		error = b->graph.function ? tell_absent(b) : tw_fail(TW_ERR_SYSTEM, "there is nothing to draw: no block is in it");
	return error ? failed(b, error) : 0;
}

static int make(struct blocks *b)
{
	int error = tw_superblocks(&b->profile, &b->path, &b->paths);
	if (!error && b->recording && !(b->names = tw_names_open(b->recording, &b->naming)))
		error = tw_fail(TW_ERR_MEMORY, "names");
	if (error)
		return failed(b, error);
	if (b->names && !tw_exports_wanted(&b->exports))
		tw_names_report("blocks", b->names);
	struct tw_blocks_report r = {
	    .profile = &b->profile,
	    .source = strcmp(b->input, "-") ? b->input : "standard input",
	    .names = b->names,
	    .threshold = b->threshold,
	    .insns_once = b->recording ? tw_recording_totals(b->recording)->insns : 0,
	};
	if (b->prefix && write_files(b, &r))
		return 1;
	return print(b, &r);
}

/* ---- input ---- */

/* Reports what was wrong with the trace, and whether there is nothing to show. */
static int judge_trace(const struct blocks *b, const struct tw_trace_facts *facts)
{
	const char *name = strcmp(b->input, "-") ? b->input : "standard input";
	if (!b->profile.n_insns) {
		fprintf(stderr, "trackway blocks: %s: %s\n", name, tw_no_insns);
		return 1;
	}
	tw_trace_report("blocks", name, facts);
	return 0;
}

static int read_trace(struct blocks *b)
{
	struct tw_input *in;
	int error = tw_input_open(b->input, &in);
	if (error)
		return failed(b, error);
	struct tw_trace *t = tw_trace_new(in, 1);
	error = t ? tw_profile_trace(t, &b->profile) : tw_fail(TW_ERR_MEMORY, "trace");
	int status = error ? failed(b, error) : judge_trace(b, tw_trace_facts(t));
	tw_trace_free(t);
	tw_input_close(in);
	return status ? status : make(b);
}

/* Whether there is more to show than profiles for other tools. */
static int has_output(const struct blocks *b)
{
	return !tw_exports_wanted(&b->exports) || b->output != SUMMARY || b->prefix;
}

/* Whether there is a profile to be made. */
static int needs_profile(const struct blocks *b)
{
	return has_output(b) || tw_exports_need_profile(&b->exports);
}

static int write_exports(struct blocks *b, const struct tw_replay_options *replay)
{
	struct tw_exports_source source = {
	    .dir = b->input, .recording = b->recording, .profile = &b->profile, .needs_profile = needs_profile(b), .replay = *replay};
	source.symbols = tw_symbols_new(b->recording);
	source.names = tw_names_open(b->recording, &b->naming);
	if (source.names)
		tw_names_report("blocks", source.names);
	int error = source.symbols && source.names ? tw_exports_write(&b->exports, &source) : tw_fail(TW_ERR_MEMORY, "names");
	tw_symbols_free(source.symbols);
	tw_names_close(source.names);
	return error;
}

static int read_recording(struct blocks *b)
{
	int error = tw_recording_open(b->input, &b->recording);
	if (error)
		return failed(b, error);
	struct tw_damage damage = {.command = "blocks", .recording = b->recording};
	struct tw_how_far how_far = {.command = "blocks"};
	struct tw_profile_options options = {
	    .replay = tw_how_far_replay(&how_far, &damage, b->jobs),
	};
	size_t problems = tw_problems_report("blocks", b->recording);
	if (tw_exports_wanted(&b->exports))
		error = write_exports(b, &options.replay);
	else
		error = tw_profile_recording(b->recording, &options, &b->profile);
	if (error)
		return failed(b, error);
	int status = has_output(b) ? make(b) : 0;
	return status ? status : problems || damage.chunks;
}

static int is_directory(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* ---- options ---- */

enum { OPTION_THRESHOLD = 256, OPTION_FUNCTION, OPTION_NODES, OPTION_EDGE, OPTION_PATH, OPTION_MANGLED, OPTION_OUTPUT };

/* A percentage as a part of 1. */
static int parse_percent(const char *text, double *out)
{
	char *end;
	double v = strtod(text, &end);
	if (end == text || *end || !(v >= 0 && v <= 100))
		return 0;
	*out = v / 100;
	return 1;
}

/* An option that takes a value. Returns 1, or 0 if the value is wrong. */
static int set_value(struct blocks *b, int option, const char *value)
{
	switch (option) {
	case OPTION_THRESHOLD:
		return parse_percent(value, &b->threshold);
	case OPTION_EDGE:
		return parse_percent(value, &b->path.edge);
	case OPTION_PATH:
		return parse_percent(value, &b->path.path);
	case OPTION_NODES:
		b->has_nodes = 1;
		return tw_parse_number(value, UINT32_MAX, &b->graph.most);
	case 'n':
		return tw_parse_number(value, UINT32_MAX, &b->top);
	default:
		return tw_parse_number(value, TW_MAX_JOBS, &b->jobs) && b->jobs;
	}
}

static const struct option options[] = {
    {"json", no_argument, NULL, OPTION_OUTPUT + JSON},
    {"csv", no_argument, NULL, OPTION_OUTPUT + CSV},
    {"dot", no_argument, NULL, OPTION_OUTPUT + DOT},
    {"svg", no_argument, NULL, OPTION_OUTPUT + SVG},
    {"superblocks", no_argument, NULL, OPTION_OUTPUT + SUPERBLOCKS},
    {"threshold", required_argument, NULL, OPTION_THRESHOLD},
    {"function", required_argument, NULL, OPTION_FUNCTION},
    {"nodes", required_argument, NULL, OPTION_NODES},
    {"edge", required_argument, NULL, OPTION_EDGE},
    {"path", required_argument, NULL, OPTION_PATH},
    {"no-demangle", no_argument, NULL, OPTION_MANGLED},
    TW_EXPORT_OPTIONS,
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const struct tw_option_set set = {"blocks", ":o:an:j:h", options};

static int set_output(struct blocks *b, enum output output)
{
	if (b->output != SUMMARY && b->output != output)
		return tw_usage_error("blocks", "--%s and --%s exclude each other", options[b->output - 1].name, options[output - 1].name);
	b->output = output;
	return -1;
}

static int wrong_value(int option, const char *value)
{
	const struct option *o = options;
	int is_percent = option == OPTION_THRESHOLD || option == OPTION_EDGE || option == OPTION_PATH;
	while (o->name && o->val != option)
		o++;
	if (is_percent)
		return tw_usage_error("blocks", "--%s wants a percentage, not '%s'", o->name, value);
	if (option == 'j')
		return tw_usage_error("blocks", "-j wants a number from 1 to %d, not '%s'", TW_MAX_JOBS, value);
	return tw_usage_error("blocks", "%s wants a number, not '%s'", option == 'n' ? "-n" : "--nodes", value);
}

/* Returns -1 to go on, or an exit status. */
static int take_option(struct blocks *b, int option, char **argv)
{
	int taken = tw_exports_option(&b->exports, "blocks", option, optarg);
	if (taken)
		return taken > 0 ? -1 : TW_EXIT_USAGE;
	if (option >= OPTION_OUTPUT)
		return set_output(b, (enum output)(option - OPTION_OUTPUT));
	switch (option) {
	case 'o':
		b->prefix = optarg;
		return -1;
	case 'a':
		b->threshold = 0;
		return -1;
	case OPTION_FUNCTION:
		b->graph.function = optarg;
		return -1;
	case OPTION_MANGLED:
		b->naming.mangled = 1;
		return -1;
	case 'h':
		return fputs(help, stdout) < 0;
	case '?':
	case ':':
		return tw_wrong_option(&set, option, argv);
	default:
		return set_value(b, option, optarg) ? -1 : wrong_value(option, optarg);
	}
}

/* How many of the outputs asked for go to standard output. */
static int to_stdout(const struct blocks *b)
{
	return (b->output != SUMMARY) + tw_exports_to_stdout(&b->exports);
}

/* Options that have no effect without another, or together with it. Returns -1 if there are none, or an exit status. */
static int check_options(const struct blocks *b)
{
	int is_graph = b->output == DOT || b->output == SVG;
	if (!is_graph && (b->graph.function || b->has_nodes))
		return tw_usage_error("blocks", "%s is about a graph: --dot or --svg is required, too",
		                      b->graph.function ? "--function" : "--nodes");
	if (b->graph.function && !is_directory(b->input))
		return tw_usage_error("blocks", "--function needs a recording: a trace does not name functions");
	if (tw_exports_wanted(&b->exports) && !is_directory(b->input))
		return tw_usage_error("blocks", "profiles for other tools need a recording: a trace says nothing of the code");
	if (to_stdout(b) > 1)
		return tw_usage_error("blocks", "only one of the outputs can go to standard output");
	return tw_exports_check(&b->exports, "blocks");
}

/* There is no word for the input: the last option may have taken it. */
static int no_input(const char *taker, const char *taken)
{
	if (!taker)
		return tw_usage_error("blocks", "an input is required: a recording, a trace, or - for a trace on standard input");
	return tw_usage_error("blocks", "--%s has taken '%s' for the file it writes, and no input is left; write --%s=FILE %s", taker,
	                      taken, taker, taken);
}

static int parse(struct blocks *b, int argc, char **argv)
{
	const char *taker = NULL, *taken = NULL; /* an option that took the next word, and that word */
	for (int option, number = -1; (option = getopt_long(argc, argv, set.letters, options, &number)) >= 0; number = -1) {
		int status = take_option(b, option, argv);
		if (status >= 0)
			return status;
		taken = number >= 0 && optarg && optarg == argv[optind - 1] ? optarg : NULL;
		taker = taken ? options[number].name : NULL;
	}
	if (argc == optind)
		return no_input(taker, taken);
	if (argc - optind != 1)
		return tw_usage_error("blocks", "exactly one input is required: a recording, a trace, or - for a trace on standard input");
	b->input = argv[optind];
	b->path.most = b->top ? (uint32_t)b->top : UINT32_MAX;
	return check_options(b);
}

int tw_cmd_blocks(int argc, char **argv)
{
	struct blocks b = {.threshold = 0.1, .top = 10, .jobs = tw_default_jobs(), .path = TW_SUPERBLOCK_DEFAULTS, .graph = {.most = 60}};
	int status = parse(&b, argc, argv);
	if (status >= 0)
		return status;
	status = is_directory(b.input) ? read_recording(&b) : read_trace(&b);
	tw_superblocks_free(&b.paths);
	tw_names_close(b.names);
	tw_profile_free(&b.profile);
	tw_recording_close(b.recording);
	return status;
}

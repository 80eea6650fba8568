/* trackway paths: the grammar of everything executed, and the paths in it that were taken most often. */
#include "analyze/hot_paths.h"
#include "cli/budget.h"
#include "cli/cli.h"
#include "report/json.h"
#include "cli/how_far.h"
#include "cli/options.h"
#include "names/places.h"
#include "report/printable.h"
#include "recording/recording.h"

#include <getopt.h>
#include <stdlib.h>

static const char help[] = "Usage: trackway paths [OPTION]... DIR\n\n"
                           "Shows the paths that a program executed most: which blocks in which order, with\n"
                           "loops folded, how often, and what share of all instructions they cover. Paths\n"
                           "are found by building a grammar (Sequitur) of the sequence of blocks; its size\n"
                           "shows how regular the program is.\n\n"
                           "  -n TOP       at most this many paths (default 10)\n"
                           "  --length N   only paths of at most N listed blocks (default 40)\n"
                           "  --thread N   only this thread, numbered from 0 as in trackway info\n"
                           "  --dot        print the paths as a graph, for Graphviz\n"
                           "  --json       print everything as JSON\n"
                           "  --expand     print the sequence of blocks, expanded from the grammar: thread,\n"
                           "               address and number of instructions\n"
                           "  -j N         replay with N threads (default: one per processor)\n"
                           "  --help       print this help\n\n"
                           "For example, the paths that gzip repeats most:\n\n"
                           "  trackway record -f dep-c -- gzip -9k file\n"
                           "  trackway paths gzip.tw\n\n"
                           "Control flow is enough: -f dep-c records faster, and less.\n"
                           "Exit status: 1 if parts of the recording are damaged and were left out.\n";

enum output { TEXT, JSON, DOT, EXPAND };

struct command {
	/* options */
	const char *dir;
	enum output output;
	uint64_t top, length, jobs, thread;
	int one_thread;
	/* what was found */
	struct tw_recording *recording;
	struct tw_names *names;
	struct tw_paths paths;
	struct tw_hot_paths hot;
};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- text ---- */

/* "deflate_slow+0x4f deflate.c:1805" */
static void name_block(struct command *c, uint32_t number, char *to, size_t size)
{
	const struct tw_path_block *b = &c->paths.blocks[number];
	struct tw_code_name name;
	tw_names_code(c->names, b->image, b->pc, &name);
	int n = snprintf(to, size, "%.200s", name.function);
	if (name.offset)
		n += snprintf(to + n, size - (size_t)n, "+0x%llx", (unsigned long long)name.offset);
	if (name.line)
		snprintf(to + n, size - (size_t)n, " %.200s:%u", tw_base_name(name.file), name.line);
}

static void print_term(struct command *c, const struct tw_path_term *t, unsigned depth)
{
	char text[512] = "";
	printf("%*s", 6 + 2 * (int)depth, "");
	if (t->turns > 1)
		printf("%llu times ", (unsigned long long)t->turns);
	if (t->kind == TW_PATH_BLOCK)
		name_block(c, t->block, text, sizeof text);
	tw_print_safe(stdout, text);
	putchar('\n');
}

static void print_path(struct command *c, size_t n)
{
	const struct tw_hot_path *p = &c->hot.paths[n];
	unsigned depth = 0;
	printf("\n%3zu  %.2f%%: %llu times, %llu block%s, %llu instructions each time\n", n + 1, percent(p->share, c->hot.insns),
	       (unsigned long long)p->times, (unsigned long long)p->blocks, p->blocks == 1 ? "" : "s", (unsigned long long)p->insns);
	for (size_t i = 0; i < p->n_terms; i++) {
		if (p->terms[i].kind == TW_PATH_END)
			depth--;
		else
			print_term(c, &p->terms[i], depth);
		depth += p->terms[i].kind == TW_PATH_LOOP;
	}
}

static void print_text(struct command *c)
{
	uint64_t symbols = tw_paths_symbols(&c->paths);
	printf("%llu blocks executed, %llu instructions\n", (unsigned long long)c->hot.blocks, (unsigned long long)c->hot.insns);
	printf("grammar: %u rules, %llu symbols, one for every %.1f blocks\n", c->paths.grammar.n_rules, (unsigned long long)symbols,
	       symbols ? (double)c->hot.blocks / (double)symbols : 0);
	for (size_t i = 0; i < c->hot.n; i++)
		print_path(c, i);
}

/* ---- JSON ---- */

static void json_block(struct tw_json *j, struct command *c, const struct tw_path_term *t)
{
	const struct tw_path_block *b = &c->paths.blocks[t->block];
	struct tw_code_name name;
	tw_names_code(c->names, b->image, b->pc, &name);
	tw_json_open(j, NULL, '{');
	tw_json_number(j, "turns", t->turns);
	tw_json_number(j, "address", b->pc);
	tw_json_number(j, "instructions", b->n_insns);
	tw_json_text(j, "function", name.function);
	tw_json_number(j, "offset", name.offset);
	tw_json_text(j, "module", name.module);
	if (name.line) {
		tw_json_text(j, "file", name.file);
		tw_json_number(j, "line", name.line);
	}
	tw_json_close(j, '}');
}

static void json_terms(struct tw_json *j, struct command *c, const struct tw_hot_path *p)
{
	tw_json_open(j, "terms", '[');
	for (size_t i = 0; i < p->n_terms; i++) {
		const struct tw_path_term *t = &p->terms[i];
		if (t->kind == TW_PATH_BLOCK) {
			json_block(j, c, t);
		} else if (t->kind == TW_PATH_LOOP) {
			tw_json_open(j, NULL, '{');
			tw_json_number(j, "turns", t->turns);
			tw_json_open(j, "terms", '[');
		} else {
			tw_json_close(j, ']');
			tw_json_close(j, '}');
		}
	}
	tw_json_close(j, ']');
}

static void print_json(struct command *c)
{
	struct tw_json j = {.f = stdout};
	tw_json_begin(&j, "paths");
	tw_json_number(&j, "blocks", c->hot.blocks);
	tw_json_number(&j, "instructions", c->hot.insns);
	tw_json_number(&j, "rules", c->paths.grammar.n_rules);
	tw_json_number(&j, "symbols", tw_paths_symbols(&c->paths));
	tw_json_open(&j, "paths", '[');
	for (size_t i = 0; i < c->hot.n; i++) {
		const struct tw_hot_path *p = &c->hot.paths[i];
		tw_json_open(&j, NULL, '{');
		tw_json_number(&j, "times", p->times);
		tw_json_number(&j, "blocks", p->blocks);
		tw_json_number(&j, "instructions", p->insns);
		tw_json_number(&j, "share", p->share);
		json_terms(&j, c, p);
		tw_json_close(&j, '}');
	}
	tw_json_close(&j, ']');
	tw_json_close(&j, '}');
}

/* ---- a graph ---- */

static void dot_text(const char *s)
{
	for (; *s; s++)
		printf(*s == '"' || *s == '\\' ? "\\%c" : "%c", (unsigned char)*s < ' ' ? '?' : *s);
}

/* The loops that are open around a term: where each began. */
enum { MAX_OPEN = 256 };

static void dot_path(struct command *c, size_t n)
{
	const struct tw_hot_path *p = &c->hot.paths[n];
	struct {
		uint64_t turns;
		size_t first; /* term */
	} open[MAX_OPEN];
	unsigned depth = 0;
	size_t last = SIZE_MAX;
	char text[512];
	printf("\tsubgraph cluster_%zu {\n\t\tlabel=\"%.2f%%, %llu times\";\n", n, percent(p->share, c->hot.insns),
	       (unsigned long long)p->times);
	for (size_t i = 0; i < p->n_terms; i++) {
		const struct tw_path_term *t = &p->terms[i];
		if (t->kind == TW_PATH_LOOP && depth < MAX_OPEN) {
			open[depth].turns = t->turns;
			open[depth++].first = i + 1;
		} else if (t->kind == TW_PATH_END && depth) {
			depth--;
			size_t first = open[depth].first;
			while (p->terms[first].kind == TW_PATH_LOOP)
				first++;
			printf("\t\tb%zu_%zu -> b%zu_%zu [label=\"%llu turns\"];\n", n, last, n, first,
			       (unsigned long long)open[depth].turns);
		} else if (t->kind == TW_PATH_BLOCK) {
			name_block(c, t->block, text, sizeof text);
			printf("\t\tb%zu_%zu [label=\"", n, i);
			dot_text(text);
			printf("\"];\n");
			if (last != SIZE_MAX)
				printf("\t\tb%zu_%zu -> b%zu_%zu;\n", n, last, n, i);
			if (t->turns > 1)
				printf("\t\tb%zu_%zu -> b%zu_%zu [label=\"%llu turns\"];\n", n, i, n, i, (unsigned long long)t->turns);
			last = i;
		}
	}
	printf("\t}\n");
}

static void print_dot(struct command *c)
{
	printf("digraph paths {\n\tnode [shape=box, fontname=monospace];\n");
	for (size_t i = 0; i < c->hot.n; i++)
		dot_path(c, i);
	printf("}\n");
}

/* ---- the sequence ---- */

struct expansion {
	const struct tw_paths *paths;
	uint32_t thread;
};

static int print_block(void *context, uint32_t terminal)
{
	const struct expansion *e = context;
	const struct tw_path_block *b = &e->paths->blocks[terminal];
	if (terminal == TW_GRAMMAR_CUT)
		return printf("%u gap\n", e->thread) < 0;
	return printf("%u %llx %u\n", e->thread, (unsigned long long)b->pc, b->n_insns) < 0;
}

/* Whether standard output can still be written is seen at the end. */
static int print_sequence(const struct command *c)
{
	for (size_t t = 0; t < c->paths.n_threads; t++) {
		const struct tw_path_thread *thread = &c->paths.threads[t];
		struct expansion e = {&c->paths, thread->thread};
		for (uint64_t i = 0; i < thread->start.n; i++) {
			int result = tw_grammar_expand(&c->paths.grammar, thread->start.symbols[i], print_block, &e);
			if (result)
				return result < 0 ? TW_ERR_MEMORY : 0;
		}
	}
	return 0;
}

/* ---- the command ---- */

static int number(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *to)
{
	if (tw_parse_number(text, most, to) && *to >= least)
		return -1;
	return tw_usage_error("paths", "%s wants a number from %llu to %llu, not '%s'", option, (unsigned long long)least,
	                      (unsigned long long)most, text);
}

/* Returns -1 to go on, or an exit status. */
static int parse_option(struct command *c, const struct tw_option_set *set, int option, char **argv)
{
	switch (option) {
	case 'n':
		return number("-n", optarg, 1, 10000, &c->top);
	case 'l':
		return number("--length", optarg, 1, 100000, &c->length);
	case 't':
		c->one_thread = 1;
		return number("--thread", optarg, 0, UINT32_MAX, &c->thread);
	case 'j':
		return number("-j", optarg, 1, TW_MAX_JOBS, &c->jobs);
	case 'h':
		return fputs(help, stdout) < 0;
	case JSON:
	case DOT:
	case EXPAND:
		if (c->output != TEXT && c->output != (enum output)option)
			return tw_usage_error("paths", "--dot, --json and --expand exclude each other");
		c->output = (enum output)option;
		return -1;
	default:
		return tw_wrong_option(set, option, argv);
	}
}

/* Returns -1 to go on, or an exit status. */
static int parse(struct command *c, int argc, char **argv)
{
	static const struct option options[] = {
	    {"length", required_argument, NULL, 'l'},
	    {"thread", required_argument, NULL, 't'},
	    {"dot", no_argument, NULL, DOT},
	    {"json", no_argument, NULL, JSON},
	    {"expand", no_argument, NULL, EXPAND},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	static const struct tw_option_set set = {"paths", ":n:j:h", options};
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		int status = parse_option(c, &set, option, argv);
		if (status >= 0)
			return status;
	}
	if (argc - optind != 1)
		return tw_usage_error("paths", "exactly one recording is required");
	c->dir = argv[optind];
	return -1;
}

/* What replay asks about each chunk, and tells of each damaged one. */
struct replaying {
	struct tw_damage damage;
	const struct command *command;
};

static int is_wanted(void *context, size_t thread, size_t chunk)
{
	const struct command *c = ((struct replaying *)context)->command;
	(void)chunk;
	return !c->one_thread || tw_recording_thread(c->recording, thread)->serial == c->thread;
}

static int is_damaged(void *context, size_t thread, size_t chunk, int error)
{
	return tw_damage_report(&((struct replaying *)context)->damage, thread, chunk, error);
}

/* Prints what was found. */
static int show(struct command *c)
{
	if (c->output == EXPAND)
		return print_sequence(c);
	int error = tw_hot_paths_find(&c->paths, c->top, (unsigned)c->length, &c->hot);
	c->names = error ? NULL : tw_names_open(c->recording, NULL);
	if (!c->names)
		return TW_ERR_MEMORY;
	tw_names_report("paths", c->names);
	if (c->output == JSON)
		print_json(c);
	else if (c->output == DOT)
		print_dot(c);
	else
		print_text(c);
	return 0;
}

static int run(struct command *c)
{
	struct replaying replaying = {{.command = "paths", .recording = c->recording}, c};
	struct tw_how_far how_far = {.command = "paths"};
	struct tw_replay_options options = {.jobs = (unsigned)c->jobs,
	                                    .select = is_wanted,
	                                    .damage = is_damaged,
	                                    .context = &replaying,
	                                    .progress = tw_how_far_tell,
	                                    .progress_context = &how_far};
	if (c->one_thread && tw_recording_find_thread(c->recording, (uint32_t)c->thread) == tw_recording_n_threads(c->recording)) {
		fprintf(stderr, "trackway paths: %s: there is no thread %llu\n", c->dir, (unsigned long long)c->thread);
		return 1;
	}
	size_t problems = tw_problems_report("paths", c->recording);
	int error = tw_paths_run(c->recording, &options, &c->paths);
	if (!error)
		error = show(c);
	return error ? tw_recording_error("paths", c->dir, error) : problems || replaying.damage.chunks;
}

int tw_cmd_paths(int argc, char **argv)
{
	struct command c = {.top = 10, .length = 40, .jobs = tw_default_jobs()};
	int status = parse(&c, argc, argv);
	if (status >= 0)
		return status;
	int error = tw_recording_open(c.dir, &c.recording);
	if (error)
		return tw_recording_error("paths", c.dir, error);
	tw_budget_tell_part("paths", c.recording);
	status = run(&c);
	tw_hot_paths_free(&c.hot);
	tw_names_close(c.names);
	tw_paths_free(&c.paths);
	tw_recording_close(c.recording);
	return status;
}

/* trackway learn: the contents of a learn file. trackway coverage: the part of a full recording that it covers. */
#include "cli/cli.h"
#include "cli/learned.h"
#include "cli/how_far.h"
#include "cli/options.h"
#include "learn/file.h"
#include "learn/gather.h"
#include "learn/logs.h"
#include "learn/tables.h"
#include "names/places.h"
#include "recording/recording.h"
#include "report/json.h"
#include "report/printable.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char learn_help[] = "Usage: trackway learn [OPTION]... FILE\n"
                                 "       trackway learn --logs=DIR\n\n"
                                 "Shows what record --learn=FILE has learned about a program over all runs: which\n"
                                 "code ran, and where branches went, by module.\n\n"
                                 "  --functions  list functions instead of modules\n"
                                 "  --lcov       lines that ran, for genhtml; FILE knows nothing about others\n"
                                 "  --logs=DIR   evaluate the logs of DIME* (hash, tree, merging) and the exact\n"
                                 "               log that is used here on the recording in DIR\n"
                                 "  --json       print the same as JSON\n"
                                 "  --help       print this help\n\n"
                                 "For example:\n\n"
                                 "  trackway record --learn=gzip.learned --budget=10% -- gzip -9k file\n"
                                 "  trackway learn gzip.learned\n";

static const char coverage_help[] = "Usage: trackway coverage [OPTION]... --against DIR FILE\n\n"
                                    "Compares what has been learned in FILE (record --learn) with what a recording\n"
                                    "contains, and shows what is missing, by function.\n\n"
                                    "  --against DIR  the recording, made without a budget and of the same work\n"
                                    "  -n TOP         number of functions shown (default 10)\n"
                                    "  --json         print the same as JSON, with all functions\n"
                                    "  -j N           replay with N threads (default: one per processor)\n"
                                    "  --help         print this help\n\n"
                                    "For example:\n\n"
                                    "  trackway record -f dep-c -o all.tw -- gzip -9k file\n"
                                    "  trackway coverage --against all.tw gzip.learned\n";

/* Keys in JSON. */
static const char *const keys[TW_FACT_KINDS] = {"blocks", "edges", "calls", "contexts", "context_edges", "references"};

enum output { TEXT, JSON, LCOV };

struct options {
	enum output output;
	int functions;
	const char *against, *logs;
	uint64_t top, jobs;
};

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100;
}

/* ---- learn ---- */

/* Kinds that are not always learned have a column if there are such facts. */
static int is_shown(const struct tw_learn_row *sum, unsigned kind)
{
	return kind <= TW_FACT_CALL || sum->n[kind];
}

enum { WIDTH = 15 };

static void print_titles(const struct tw_learn_row *sum)
{
	for (unsigned k = 0; k < TW_FACT_KINDS; k++)
		if (is_shown(sum, k))
			printf("%*s", k > TW_FACT_CALL ? WIDTH : 10, tw_fact_names[k]);
}

static void print_numbers(const struct tw_learn_row *sum, const uint64_t n[TW_FACT_KINDS])
{
	for (unsigned k = 0; k < TW_FACT_KINDS; k++)
		if (is_shown(sum, k))
			printf("%*llu", k > TW_FACT_CALL ? WIDTH : 10, (unsigned long long)n[k]);
}

/* After a module's name: which build this is, if there are several. */
static void print_build(const struct tw_learn_row *row)
{
	if (row->is_one_of_several)
		printf(row->build_id && *row->build_id ? " (build %.8s)" : " (without a build id)", row->build_id);
}

static void print_row(const struct tw_learn_row *row, const struct tw_learn_row *sum)
{
	printf("%12llu", (unsigned long long)row->bytes);
	print_numbers(sum, row->n);
	fputs("  ", stdout);
	if (row->function) {
		tw_print_safe(stdout, row->function);
		fputs("  ", stdout);
	}
	tw_print_safe(stdout, row->function ? tw_base_name(row->path) : row->path);
	print_build(row);
	putchar('\n');
}

static void print_learned(const struct tw_facts *f, const struct tw_learn_rows *rows, const struct options *o)
{
	const struct tw_learn_row sum = tw_learn_sum(rows);
	printf("%s, %u run%s\n\n", f->n_modules ? tw_facts_path(f, 0) : "nothing", f->runs, f->runs == 1 ? "" : "s");
	printf("%12s", "code bytes");
	print_titles(&sum);
	printf("  %s\n", o->functions ? "function" : "module");
	for (size_t i = 0; i < rows->n; i++)
		print_row(&rows->rows[i], &sum);
	printf("%12llu", (unsigned long long)sum.bytes);
	print_numbers(&sum, sum.n);
	puts("  all");
}

static void json_row(struct tw_json *j, const struct tw_learn_row *row, int compared)
{
	if (row->path)
		tw_json_text(j, "module", row->path);
	if (row->build_id && *row->build_id)
		tw_json_text(j, "build_id", row->build_id);
	if (row->function)
		tw_json_text(j, "function", row->function);
	tw_json_number(j, "bytes", row->bytes);
	for (unsigned k = 0; k < TW_FACT_KINDS; k++) {
		tw_json_number(j, keys[k], row->n[k]);
		if (!compared)
			continue;
		char known[32];
		snprintf(known, sizeof known, "%s_learned", keys[k]);
		tw_json_number(j, known, row->known[k]);
	}
}

static void json_rows(struct tw_json *j, const char *key, const struct tw_learn_rows *rows, int compared)
{
	const struct tw_learn_row sum = tw_learn_sum(rows);
	tw_json_open(j, "all", '{');
	json_row(j, &sum, compared);
	tw_json_close(j, '}');
	tw_json_open(j, key, '[');
	for (size_t i = 0; i < rows->n; i++) {
		tw_json_open(j, NULL, '{');
		json_row(j, &rows->rows[i], compared);
		tw_json_close(j, '}');
	}
	tw_json_close(j, ']');
}

static void json_learned(const struct tw_facts *f, const struct tw_learn_rows *rows, const struct options *o)
{
	struct tw_json j = {.f = stdout};
	tw_json_begin(&j, "learn");
	tw_json_text(&j, "program", f->n_modules ? tw_facts_path(f, 0) : "");
	tw_json_number(&j, "runs", f->runs);
	json_rows(&j, o->functions ? "functions" : "modules", rows, 0);
	tw_json_close(&j, '}');
}

/* Lines of one file after another. */
struct line {
	const char *file;
	uint32_t line;
};

static int by_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	const int files = strcmp(x->file, y->file);
	return files ? files : (x->line > y->line) - (x->line < y->line);
}

/* By module: whether its lines are shown. Reports builds that are left out. NULL: no memory. */
static uint8_t *choose_builds(const struct tw_facts *f)
{
	uint8_t *chosen = calloc(f->n_modules + 1, 1);
	for (size_t i = 0; chosen && i < f->n_modules; i++) {
		chosen[i] = !tw_facts_has_build(f, (uint32_t)i, (uint32_t)i + 1); /* lines of two builds do not go together */
		if (!chosen[i])
			fprintf(stderr, "trackway learn: %s: lines of its build %.8s are left out, for a later one was learned\n",
			        tw_facts_path(f, (uint32_t)i), tw_facts_build_id(f, (uint32_t)i));
	}
	return chosen;
}

static int print_lcov(const struct tw_facts *f)
{
	struct line *lines = malloc((f->n + 1) * sizeof *lines);
	uint8_t *chosen = choose_builds(f);
	size_t n = 0;
	if (!lines || !chosen) {
		free(lines);
		free(chosen);
		return tw_fail(TW_ERR_MEMORY, "lines");
	}
	for (size_t i = 0; i < f->n; i++)
		if (f->facts[i].line && *f->texts.items[f->facts[i].file] && chosen[f->facts[i].module])
			lines[n++] = (struct line){f->texts.items[f->facts[i].file], f->facts[i].line};
	qsort(lines, n, sizeof *lines, by_line);
	for (size_t i = 0; i < n; i++) {
		const int first = !i || strcmp(lines[i - 1].file, lines[i].file);
		if (first)
			printf("%sTN:\nSF:%s\n", i ? "end_of_record\n" : "", lines[i].file);
		if (first || lines[i - 1].line != lines[i].line)
			printf("DA:%u,1\n", lines[i].line);
	}
	fputs(n ? "end_of_record\n" : "", stdout);
	free(lines);
	free(chosen);
	return TW_OK;
}

static int show_learned(const struct tw_facts *f, const struct options *o)
{
	struct tw_learn_rows rows;
	if (o->output == LCOV)
		return print_lcov(f);
	int error = tw_learn_rows(f, NULL, o->functions, &rows);
	if (!error && o->output == JSON)
		json_learned(f, &rows, o);
	else if (!error)
		print_learned(f, &rows, o);
	free(rows.rows);
	return error;
}

/* ---- coverage ---- */

static void print_missing(const struct tw_learn_row *row, const struct tw_learn_row *sum)
{
	uint64_t missing[TW_FACT_KINDS];
	for (unsigned k = 0; k < TW_FACT_KINDS; k++)
		missing[k] = row->n[k] - row->known[k];
	print_numbers(sum, missing);
	fputs("  ", stdout);
	tw_print_safe(stdout, row->function ? row->function : "?");
	fputs("  ", stdout);
	tw_print_safe(stdout, tw_base_name(row->path));
	print_build(row);
	putchar('\n');
}

static void print_coverage(const struct tw_facts *learned, const struct tw_learn_rows *rows, uint64_t top)
{
	const struct tw_learn_row sum = tw_learn_sum(rows);
	printf("%-14s%12s%12s%12s\n", "", "recorded", "learned", "per cent");
	for (unsigned k = 0; k < TW_FACT_KINDS; k++)
		if (is_shown(&sum, k))
			printf("%-14s%12llu%12llu%12.2f\n", tw_fact_names[k], (unsigned long long)sum.n[k],
			       (unsigned long long)sum.known[k], percent(sum.known[k], sum.n[k]));
	printf("in %u run%s\n", learned->runs, learned->runs == 1 ? "" : "s");
	for (size_t i = 0; i < rows->n && i < top; i++) {
		const struct tw_learn_row *row = &rows->rows[i];
		if (!memcmp(row->n, row->known, sizeof row->n))
			break;
		if (!i) {
			puts("\nmissing");
			print_titles(&sum);
			puts("  function");
		}
		print_missing(row, &sum);
	}
}

static void json_coverage(const struct tw_facts *learned, const struct tw_learn_rows *rows)
{
	const struct tw_learn_row sum = tw_learn_sum(rows);
	struct tw_json j = {.f = stdout};
	tw_json_begin(&j, "coverage");
	tw_json_number(&j, "runs", learned->runs);
	for (unsigned k = 0; k < TW_FACT_KINDS; k++) {
		char key[32];
		snprintf(key, sizeof key, "%s_percent", keys[k]);
		tw_json_real(&j, key, percent(sum.known[k], sum.n[k]));
	}
	json_rows(&j, "functions", rows, 1);
	tw_json_close(&j, '}');
}

/* Kinds that need more in the recording are included only if they were learned: they take longer to find. */
static unsigned kinds_of(const struct tw_facts *learned)
{
	uint64_t n[TW_FACT_KINDS];
	unsigned what = TW_LEARN_ALL;
	tw_facts_count(learned, n);
	what |= n[TW_FACT_CONTEXT] ? TW_LEARN_CONTEXTS : 0;
	return what | (n[TW_FACT_REF] ? TW_LEARN_REFS : 0);
}

static int gather_whole(const struct options *o, const struct tw_facts *learned, struct tw_facts *whole)
{
	struct tw_recording *r;
	int error = tw_recording_open(o->against, &r);
	if (error)
		return error;
	struct tw_damage damage = {.command = "coverage", .recording = r};
	struct tw_how_far how_far = {.command = "coverage"};
	const struct tw_replay_options options = tw_how_far_replay(&how_far, &damage, o->jobs);
	error = tw_learn_gather(r, &options, kinds_of(learned), whole);
	tw_recording_close(r);
	return error;
}

static int show_coverage(const struct tw_facts *learned, const struct options *o)
{
	struct tw_facts whole = {0};
	struct tw_learn_rows rows = {0};
	int error = gather_whole(o, learned, &whole);
	if (!error)
		error = tw_learn_rows(&whole, learned, 1, &rows);
	if (!error && o->output == JSON)
		json_coverage(learned, &rows);
	else if (!error)
		print_coverage(learned, &rows, o->top);
	free(rows.rows);
	tw_facts_free(&whole);
	return error ? tw_recording_error("coverage", o->against, error) : 0;
}

/* ---- logs ---- */

static int show_logs(const char *dir)
{
	struct tw_log_figures of[TW_LOGS];
	struct tw_recording *r;
	uint64_t asked;
	int error = tw_recording_open(dir, &r);
	if (error)
		return tw_recording_error("learn", dir, error);
	error = tw_logs_compare(r, NULL, of, &asked);
	tw_recording_close(r);
	if (error)
		return tw_recording_error("learn", dir, error);
	printf("%llu blocks of fragments, as they were first run\n\n%-10s%14s%17s%17s%14s%10s\n", (unsigned long long)asked, "log",
	       "instrumented", "false positives", "false negatives", "bytes missed", "entries");
	for (unsigned k = 0; k < TW_LOGS; k++)
		printf("%-10s%14llu%17llu%17llu%14llu%10llu\n", of[k].name, (unsigned long long)of[k].instrumented,
		       (unsigned long long)of[k].positives, (unsigned long long)of[k].negatives, (unsigned long long)of[k].missed,
		       (unsigned long long)of[k].entries);
	return 0;
}

/* ---- the commands ---- */

static int read_file(const char *command, const char *file, struct tw_facts *f)
{
	const int error = tw_learn_read(file, f);
	if (error)
		tw_learned_error(command, file, error);
	return error != 0;
}

int tw_cmd_learn(int argc, char **argv)
{
	static const struct option words[] = {
	    {"functions", no_argument, NULL, 'f'}, {"lcov", no_argument, NULL, 'l'}, {"logs", required_argument, NULL, 'L'},
	    {"json", no_argument, NULL, 'J'},      {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0},
	};
	static const struct tw_option_set set = {"learn", ":h", words};
	struct options o = {0};
	struct tw_facts f = {0};
	for (int option; (option = getopt_long(argc, argv, set.letters, words, NULL)) >= 0;) {
		if (option == 'h')
			return fputs(learn_help, stdout) < 0;
		if (option == '?' || option == ':')
			return tw_wrong_option(&set, option, argv);
		o.logs = option == 'L' ? optarg : o.logs;
		if (option == 'f')
			o.functions = 1;
		if ((option == 'l' && o.output == JSON) || (option == 'J' && o.output == LCOV))
			return tw_usage_error("learn", "--lcov and --json exclude each other");
		o.output = option == 'l' ? LCOV : option == 'J' ? JSON : o.output;
	}
	if (o.logs && argc == optind)
		return show_logs(o.logs);
	if (o.logs || argc - optind != 1)
		return tw_usage_error("learn", o.logs ? "with --logs there is no file" : "exactly one learn file is wanted");
	int status = read_file("learn", argv[optind], &f);
	if (!status && show_learned(&f, &o))
		status = 1;
	tw_facts_free(&f);
	return status;
}

static int take_number(const char *text, uint64_t most, uint64_t *to, const char *option)
{
	return tw_parse_number(text, most, to) ? 0 : tw_usage_error("coverage", "%s wants a number, not '%s'", option, text);
}

int tw_cmd_coverage(int argc, char **argv)
{
	static const struct option words[] = {
	    {"against", required_argument, NULL, 'a'},
	    {"json", no_argument, NULL, 'J'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	static const struct tw_option_set set = {"coverage", ":n:j:h", words};
	struct options o = {.top = 10, .jobs = tw_default_jobs()};
	struct tw_facts f = {0};
	for (int option; (option = getopt_long(argc, argv, set.letters, words, NULL)) >= 0;) {
		int status = 0;
		if (option == 'h')
			return fputs(coverage_help, stdout) < 0;
		if (option == '?' || option == ':')
			return tw_wrong_option(&set, option, argv);
		if (option == 'a')
			o.against = optarg;
		else if (option == 'J')
			o.output = JSON;
		else
			status =
			    option == 'n' ? take_number(optarg, UINT32_MAX, &o.top, "-n") : take_number(optarg, TW_MAX_JOBS, &o.jobs, "-j");
		if (status)
			return status;
	}
	if (argc - optind != 1 || !o.against)
		return tw_usage_error("coverage", "one learn file is wanted, and with --against a recording");
	int status = read_file("coverage", argv[optind], &f);
	if (!status)
		status = show_coverage(&f, &o);
	tw_facts_free(&f);
	return status;
}

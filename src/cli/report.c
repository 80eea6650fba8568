/* trackway report: the functions and blocks that execute most instructions and make most references. */
#include "analyze/hot.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/words.h"
#include "recording/recording.h"
#include "report/symbols.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "Usage: trackway report [OPTION...] DIR\n\n"
                           "Shows the functions and the basic blocks that execute most instructions and make\n"
                           "most memory references, with their share of all.\n\n"
                           "  --functions  only functions\n"
                           "  --blocks     only blocks\n"
                           "  -n TOP       that many lines of each (default 10; 0: all)\n"
                           "  -j N         replay with N threads (default: as many as there are processors)\n"
                           "  --json       all of it for programs to read\n"
                           "  --help       this text\n\n"
                           "For example, what gzip spends its time on:\n\n"
                           "  trackway record -- gzip -9k file\n"
                           "  trackway report gzip.tw\n\n"
                           "Code without symbols is shown as FILE+0xADDRESS. Exit status: 1 if parts of the\n"
                           "recording are damaged and were left out.\n";

/* A function, or one block as part of it. */
struct item {
	struct tw_symbol symbol;
	uint32_t image; /* as the symbols want it */
	uint64_t pc;
	struct tw_hot_counts counts; /* executions: of the block, or of the function's first block */
};

struct list {
	struct item *items;
	size_t n;
};

struct report {
	/* options */
	const char *dir;
	int functions_only, blocks_only, json;
	uint64_t top, jobs;
	/* what was found */
	struct tw_recording *recording;
	struct tw_symbols *symbols;
	struct tw_hot hot;
	struct list blocks, functions;
};

/* ---- from blocks to functions ---- */

static int by_function(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	int order = strcmp(x->symbol.module, y->symbol.module);
	return order ? order : strcmp(x->symbol.name, y->symbol.name);
}

static int by_insns(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->counts.insns != y->counts.insns)
		return x->counts.insns > y->counts.insns ? -1 : 1;
	return by_function(a, b);
}

static int by_refs(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->counts.refs != y->counts.refs)
		return x->counts.refs > y->counts.refs ? -1 : 1;
	return by_function(a, b);
}

static int list_blocks(struct report *r)
{
	r->blocks.items = calloc(r->hot.n_blocks + 1, sizeof *r->blocks.items);
	if (!r->blocks.items)
		return 0;
	for (size_t i = 0; i < r->hot.n_blocks; i++) {
		const struct tw_hot_block *b = &r->hot.blocks[i];
		struct item *item = &r->blocks.items[r->blocks.n++];
		*item = (struct item){.image = TW_SYMBOLS_IMAGE(b->image), .pc = b->pc, .counts = b->counts};
		tw_symbols_function(r->symbols, item->image, b->pc, &item->symbol);
	}
	qsort(r->blocks.items, r->blocks.n, sizeof *r->blocks.items, by_function);
	return 1;
}

static int list_functions(struct report *r)
{
	r->functions.items = calloc(r->blocks.n + 1, sizeof *r->functions.items);
	if (!r->functions.items)
		return 0;
	for (size_t i = 0; i < r->blocks.n; i++) {
		struct item block = r->blocks.items[i];
		if (block.symbol.offset)
			block.counts.executions = 0;
		struct item *last = r->functions.n ? &r->functions.items[r->functions.n - 1] : NULL;
		if (last && !by_function(last, &block))
			tw_hot_add(&last->counts, &block.counts);
		else
			r->functions.items[r->functions.n++] = block;
	}
	return 1;
}

/* ---- text ---- */

/* A count in at most 6 columns. */
static const char *scaled(uint64_t n, char to[16])
{
	static const char units[] = " kMGTPE";
	double v = (double)n;
	int unit = 0;
	for (; v >= 999.5 && unit < 6; unit++)
		v /= 1000;
	if (!unit)
		snprintf(to, 16, "%llu", (unsigned long long)n);
	else
		snprintf(to, 16, "%.*f%c", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[unit]);
	return to;
}

/* A count with commas. */
static const char *grouped(uint64_t n, char to[32])
{
	char digits[32];
	int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			to[at++] = ',';
		to[at++] = digits[i];
	}
	to[at] = 0;
	return to;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Puts what names the item into 80 columns, its source or else its module behind the name: what does not fit loses its end. */
static void print_place(struct report *r, const struct item *item, int block, unsigned room)
{
	char text[512], file[200];
	int n = snprintf(text, sizeof text, "%s", item->symbol.name); /* all that is put together fits */
	if (block && item->symbol.offset)
		n += snprintf(text + n, sizeof text - (size_t)n, "+0x%llx", (unsigned long long)item->symbol.offset);
	int line = tw_symbols_line(r->symbols, item->image, item->pc, file, sizeof file);
	if (line)
		n += snprintf(text + n, sizeof text - (size_t)n, " %s:%d", file, line);
	else if (strncmp(text, item->symbol.module, strlen(item->symbol.module)))
		n += snprintf(text + n, sizeof text - (size_t)n, " (%s)", item->symbol.module);
	tw_print_cut(stdout, text, room);
	putchar('\n');
}

static void print_item(struct report *r, const struct item *item, int block)
{
	char insns[16], refs[16], runs[16];
	const struct tw_hot_counts *all = &r->hot.totals;
	printf("%6.2f%% %6s %6.2f%% %6s %6s  ", percent(item->counts.insns, all->insns), scaled(item->counts.insns, insns),
	       percent(item->counts.refs, all->refs), scaled(item->counts.refs, refs), scaled(item->counts.executions, runs));
	print_place(r, item, block, 80 - 38);
}

static void print_table(struct report *r, struct list *list, int block, const char *title, int (*order)(const void *, const void *))
{
	size_t n = r->top && r->top < list->n ? r->top : list->n;
	qsort(list->items, list->n, sizeof *list->items, order);
	printf("\n%s\n   instructions     references %6s  %s\n", title, block ? "runs" : "calls", block ? "block" : "function");
	for (size_t i = 0; i < n; i++)
		print_item(r, &list->items[i], block);
	if (n < list->n)
		printf("%*s  ... and %zu more\n", 36, "", list->n - n);
}

static void print_command(const struct tw_recording_info *info)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	if (!f)
		return;
	tw_print_command(f, (const char *const *)info->argv);
	fclose(f);
	tw_print_cut(stdout, text ? text : "", 80);
	putchar('\n');
	free(text);
}

static void print_totals(const struct report *r)
{
	char n[4][32];
	const struct tw_recording_info *info = tw_recording_info(r->recording);
	const struct tw_hot_counts *all = &r->hot.totals;
	const struct tw_totals *t = tw_recording_totals(r->recording);
	print_command(info);
	printf("%s instructions in %s blocks, %llu thread%s\n", grouped(all->insns, n[0]), grouped(all->executions, n[1]),
	       (unsigned long long)t->threads, t->threads == 1 ? "" : "s");
	if (tw_format_has_refs(info->format))
		printf("%s references: %s reads, %s writes\n", grouped(all->refs, n[0]), grouped(all->reads, n[1]),
		       grouped(all->writes, n[2]));
	else
		printf("references: a recording of format %s holds none\n", tw_format_name(info->format));
	if (!info->complete)
		printf("incomplete: %s\n", info->failure[0] ? info->failure : "still being written, or the collector was killed");
	if (t->gaps)
		printf("gaps: at %s place%s something was not recorded\n", grouped(t->gaps, n[3]), t->gaps == 1 ? "" : "s");
}

static void print_text(struct report *r)
{
	int has_refs = tw_format_has_refs(tw_recording_info(r->recording)->format);
	print_totals(r);
	if (!r->blocks_only) {
		print_table(r, &r->functions, 0, "Functions that execute most instructions", by_insns);
		if (has_refs)
			print_table(r, &r->functions, 0, "Functions that make most references", by_refs);
	}
	if (!r->functions_only) {
		print_table(r, &r->blocks, 1, "Blocks that execute most instructions", by_insns);
		if (has_refs)
			print_table(r, &r->blocks, 1, "Blocks that make most references", by_refs);
	}
}

/* ---- JSON ---- */

static void json_counts(struct tw_json *j, const struct tw_hot_counts *c, const char *executions)
{
	tw_json_number(j, executions, c->executions);
	tw_json_number(j, "instructions", c->insns);
	tw_json_number(j, "refs", c->refs);
	tw_json_number(j, "reads", c->reads);
	tw_json_number(j, "writes", c->writes);
}

static void json_item(struct tw_json *j, struct report *r, const struct item *item, int block)
{
	char file[200];
	int line = tw_symbols_line(r->symbols, item->image, item->pc, file, sizeof file);
	tw_json_open(j, NULL, '{');
	tw_json_text(j, "function", item->symbol.name);
	tw_json_text(j, "module", item->symbol.module);
	tw_json_number(j, "address", block ? item->pc : item->symbol.start);
	if (block)
		tw_json_number(j, "offset", item->symbol.offset);
	if (line) {
		tw_json_text(j, "file", file);
		tw_json_number(j, "line", (uint64_t)line);
	}
	json_counts(j, &item->counts, block ? "runs" : "calls");
	tw_json_close(j, '}');
}

static void json_list(struct tw_json *j, struct report *r, struct list *list, int block)
{
	size_t n = r->top && r->top < list->n ? r->top : list->n;
	qsort(list->items, list->n, sizeof *list->items, by_insns);
	tw_json_open(j, block ? "blocks" : "functions", '[');
	for (size_t i = 0; i < n; i++)
		json_item(j, r, &list->items[i], block);
	tw_json_close(j, ']');
}

static void print_json(struct report *r)
{
	struct tw_json j = {.f = stdout};
	tw_json_open(&j, NULL, '{');
	tw_json_text(&j, "state", tw_recording_info(r->recording)->complete ? "complete" : "incomplete");
	tw_json_text(&j, "format", tw_format_name(tw_recording_info(r->recording)->format));
	tw_json_number(&j, "gaps", tw_recording_totals(r->recording)->gaps);
	tw_json_open(&j, "totals", '{');
	json_counts(&j, &r->hot.totals, "blocks");
	tw_json_close(&j, '}');
	if (!r->blocks_only)
		json_list(&j, r, &r->functions, 0);
	if (!r->functions_only)
		json_list(&j, r, &r->blocks, 1);
	tw_json_close(&j, '}');
}

/* ---- the command ---- */

/* Returns -1 to go on, or an exit status. */
static int parse(struct report *r, int argc, char **argv)
{
	static const struct option options[] = {
	    {"functions", no_argument, NULL, 'F'},
	    {"blocks", no_argument, NULL, 'B'},
	    {"json", no_argument, NULL, 'J'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	static const struct tw_option_set set = {"report", ":n:j:h", options};
	for (int option; (option = getopt_long(argc, argv, set.letters, options, NULL)) >= 0;) {
		switch (option) {
		case 'F':
			r->functions_only = 1;
			break;
		case 'B':
			r->blocks_only = 1;
			break;
		case 'J':
			r->json = 1;
			break;
		case 'n':
			if (!tw_parse_number(optarg, UINT32_MAX, &r->top))
				return tw_usage_error("report", "-n wants a number, not '%s'", optarg);
			break;
		case 'j':
			if (!tw_parse_number(optarg, TW_MAX_JOBS, &r->jobs) || !r->jobs)
				return tw_usage_error("report", "-j wants a number from 1 to %d, not '%s'", TW_MAX_JOBS, optarg);
			break;
		case 'h':
			return fputs(help, stdout) < 0;
		default:
			return tw_wrong_option(&set, option, argv);
		}
	}
	if (r->functions_only && r->blocks_only)
		return tw_usage_error("report", "--functions and --blocks exclude each other");
	if (argc - optind != 1)
		return tw_usage_error("report", "exactly one recording is wanted");
	r->dir = argv[optind];
	return -1;
}

/* Fills the lists and prints them. */
static int make(struct report *r)
{
	r->symbols = tw_symbols_new(r->recording);
	if (!r->symbols || !list_blocks(r) || !list_functions(r))
		return tw_recording_error("report", r->dir, TW_ERR_MEMORY);
	tw_changed_report("report", r->symbols);
	if (r->json)
		print_json(r);
	else
		print_text(r);
	return 0;
}

static int run(struct report *r)
{
	struct tw_damage damage = {.command = "report", .recording = r->recording};
	struct tw_replay_options options = {.jobs = (unsigned)r->jobs, .damage = tw_damage_report, .context = &damage};
	size_t problems = tw_problems_report("report", r->recording);
	int error = tw_hot_run(r->recording, &options, &r->hot);
	if (error)
		return tw_recording_error("report", r->dir, error);
	int status = make(r);
	return status ? status : problems || damage.chunks;
}

int tw_cmd_report(int argc, char **argv)
{
	struct report r = {.top = 10, .jobs = tw_default_jobs()};
	int status = parse(&r, argc, argv);
	if (status >= 0)
		return status;
	int error = tw_recording_open(r.dir, &r.recording);
	if (error)
		return tw_recording_error("report", r.dir, error);
	status = run(&r);
	free(r.blocks.items);
	free(r.functions.items);
	tw_hot_free(&r.hot);
	tw_symbols_free(r.symbols);
	tw_recording_close(r.recording);
	return status;
}

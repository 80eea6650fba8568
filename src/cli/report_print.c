/* The tables of trackway report. */
#include "analyze/strides.h"
#include "base/array.h"
#include "cli/budget.h"
#include "cli/died.h"
#include "cli/options.h"
#include "cli/report_state.h"
#include "recording/recording.h"
#include "report/printable.h"
#include "report/source.h"

#include <stdlib.h>
#include <string.h>

/* ---- the head ---- */

static void print_command(FILE *f, const struct tw_recording_info *info)
{
	tw_print_command(f, (const char *const *)info->argv);
	putc('\n', f);
}

static void print_totals(const struct report *r)
{
	FILE *f = r->rows.f;
	char n[4][32];
	const struct tw_recording_info *info = tw_recording_info(r->recording);
	const struct tw_cost *all = &r->costs.totals;
	const struct tw_totals *t = tw_recording_totals(r->recording);
	print_command(f, info);
	fprintf(f, "%s instructions, %llu thread%s\n", tw_grouped(all->insns, n[0]), (unsigned long long)t->threads,
	        t->threads == 1 ? "" : "s");
	if (tw_format_has_refs(info->format))
		fprintf(f, "%s references: %s reads, %s writes (%s read and write, and count as both)\n", tw_grouped(all->refs, n[0]),
		        tw_grouped(all->reads, n[1]), tw_grouped(all->writes, n[2]),
		        tw_grouped(all->reads + all->writes - all->refs, n[3]));
	else
		fprintf(f, "references: a recording of format %s holds none\n", tw_format_name(info->format));
	if (!info->complete) {
		fputs("incomplete: ", f);
		tw_print_safe(f, info->failure[0] ? info->failure : "still being written, or the collector was killed");
		fputc('\n', f);
	}
	if (t->cut) {
		tw_tell_cut(f, t);
		fputs(": still there when the process ended\n", f);
	}
	if (info->dropped)
		fprintf(f, "only the last %s of what ran is here: %s instructions before were dropped (--ring)\n",
		        tw_percent(t->insns, t->insns + info->dropped, n[2]), tw_grouped(info->dropped, n[3]));
	else if (t->gaps)
		fprintf(f, "gaps: at %s place%s something was not recorded\n", tw_grouped(t->gaps, n[3]), t->gaps == 1 ? "" : "s");
	size_t periods;
	const struct tw_budget *b = tw_recording_budget(r->recording, &periods);
	if (b)
		tw_budget_print_line(f, "", b, periods);
}

static void json_cost(struct tw_json *j, const struct tw_cost *c)
{
	tw_json_number(j, "instructions", c->insns);
	tw_json_number(j, "refs", c->refs);
	tw_json_number(j, "reads", c->reads);
	tw_json_number(j, "writes", c->writes);
}

/* Blocks executed. For a part, they are known only if nothing but blocks was counted. */
static void json_blocks(struct tw_json *j, const struct report *r)
{
	if (tw_part_is_all(&r->part))
		tw_json_number(j, "blocks", tw_recording_totals(r->recording)->blocks);
	else if (r->costs.blocks)
		tw_json_number(j, "blocks", r->costs.blocks);
}

static void json_head(struct tw_json *j, const struct report *r)
{
	tw_json_text(j, "state", tw_recording_info(r->recording)->complete ? "complete" : "incomplete");
	tw_json_text(j, "format", tw_format_name(tw_recording_info(r->recording)->format));
	tw_json_number(j, "gaps", tw_recording_totals(r->recording)->gaps);
	if (tw_recording_info(r->recording)->dropped)
		tw_json_number(j, "dropped", tw_recording_info(r->recording)->dropped);
	tw_json_number(j, "cut_at_exit", tw_recording_totals(r->recording)->cut);
	tw_budget_json(j, r->recording);
	tw_json_open(j, "totals", '{');
	json_cost(j, &r->costs.totals);
	json_blocks(j, r);
	tw_json_close(j, '}');
	tw_died_json(j, r->recording, r->names);
}

/* ---- functions ---- */

static enum report_sort sorted_by;

static uint64_t key_of(const struct tw_cost *self, const struct tw_cost *inclusive, uint64_t calls)
{
	switch (sorted_by) {
	case SORT_INCLUSIVE:
		return inclusive->insns;
	case SORT_REFS:
		return self->refs;
	case SORT_READS:
		return self->reads;
	case SORT_WRITES:
		return self->writes;
	case SORT_CALLS:
		return calls;
	default:
		return self->insns;
	}
}

static int by_function(const void *a, const void *b)
{
	const struct tw_cost_function *x = a, *y = b;
	uint64_t m = sorted_by == SORT_NAME ? 0 : key_of(&x->self, &x->inclusive, x->calls);
	uint64_t n = sorted_by == SORT_NAME ? 0 : key_of(&y->self, &y->inclusive, y->calls);
	if (m != n)
		return m > n ? -1 : 1;
	int order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->module, y->module);
}

static void add_function(struct report *r, const struct tw_cost_function *f)
{
	const struct tw_cost *all = &r->costs.totals, *self = &f->self, *incl = &f->inclusive;
	char *place = report_place_of(f->name, f->module, f->file, f->line);
	tw_rows_add(&r->rows, (union tw_row_cell[]){{{self->insns, all->insns}},
	                                            {{self->insns, 0}},
	                                            {{incl->insns, all->insns}},
	                                            {{incl->insns, 0}},
	                                            {{self->refs, 0}},
	                                            {{self->reads, 0}},
	                                            {{self->writes, 0}},
	                                            {{incl->refs, 0}},
	                                            {{incl->reads, 0}},
	                                            {{incl->writes, 0}},
	                                            {{f->calls, 0}},
	                                            {.text = f->name},
	                                            {.text = f->module},
	                                            {{f->address, 0}},
	                                            {.text = f->file ? tw_base_name(f->file) : ""},
	                                            {{f->line, 0}},
	                                            {.text = f->known ? "" : f->why},
	                                            {.text = place ? place : f->name}});
	free(place);
}

/* A row, for programs, for the requested function that did not run. */
static const struct tw_absent *idle_function(struct report *r)
{
	if (r->rows.n || !r->function || r->rows.form == TW_ROWS_TEXT || !r->costs.has_code)
		return NULL;
	const struct tw_absent *a = report_absent(r);
	if (a->what != TW_ABSENT_IDLE || !a->function)
		return NULL;
	r->zero_rows = 1;
	return a;
}

static int print_functions(struct report *r)
{
	static const struct tw_row_column columns[] = {
	    {NULL, "self", TW_ROW_SHARE, 0},
	    {"instructions", "insns", TW_ROW_COUNT, 0},
	    {NULL, "incl.", TW_ROW_SHARE, 0},
	    {"inclusive_instructions", NULL, TW_ROW_COUNT, 0},
	    {"refs", "refs", TW_ROW_COUNT, 0},
	    {"reads", "reads", TW_ROW_COUNT, 0},
	    {"writes", "writes", TW_ROW_COUNT, 0},
	    {"inclusive_refs", NULL, TW_ROW_COUNT, 0},
	    {"inclusive_reads", NULL, TW_ROW_COUNT, 0},
	    {"inclusive_writes", NULL, TW_ROW_COUNT, 0},
	    {"calls", "calls", TW_ROW_COUNT, 0},
	    {"function", NULL, TW_ROW_TEXT, 0},
	    {"module", NULL, TW_ROW_TEXT, 0},
	    {"address", NULL, TW_ROW_ADDRESS, 0},
	    {"file", NULL, TW_ROW_TEXT, 0},
	    {"line", NULL, TW_ROW_COUNT, 0},
	    {"unnamed", NULL, TW_ROW_TEXT, 0},
	    {NULL, "function", TW_ROW_TEXT, 0},
	    {NULL, NULL, 0, 0},
	};
	sorted_by = r->sort;
	if (r->costs.n_functions)
		qsort(r->costs.functions, r->costs.n_functions, sizeof *r->costs.functions, by_function);
	tw_rows_begin(&r->rows, "functions",
	              r->costs.has_calls ? "Functions: by themselves (self; references too), and with all that they call (incl.)"
	                                 : "Functions, by themselves",
	              columns);
	for (size_t i = 0; i < r->costs.n_functions; i++) {
		const struct tw_cost_function *f = &r->costs.functions[i];
		if ((!f->self.insns && !f->inclusive.insns) || !report_is_shown(r, f->name, f->module))
			continue;
		add_function(r, f);
	}
	const struct tw_absent *idle = idle_function(r);
	if (idle)
		add_function(r, &(struct tw_cost_function){
		                    .name = idle->function, .module = idle->module, .file = idle->file, .line = idle->line, .known = 1});
	tw_rows_end(&r->rows);
	return 0;
}

/* ---- lines ---- */

static int by_line(const void *a, const void *b)
{
	const struct tw_cost_line *x = a, *y = b;
	uint64_t m = key_of(&x->self, &x->self, 0), n = key_of(&y->self, &y->self, 0);
	if (m != n)
		return m > n ? -1 : 1;
	int order = strcmp(x->function, y->function);
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static const char *text_of(struct tw_sources *sources, const struct tw_cost_line *l)
{
	const char *text = l->line && l->file ? tw_source_line(sources, l->file, l->line) : NULL;
	return text ? text + strspn(text, " \t") : "";
}

/* What goes into the text's last column. */
static char *line_of(struct tw_sources *sources, const struct tw_cost_line *l)
{
	char *place = report_place_of(l->function, l->module, l->file, l->line), *all = NULL;
	if (place && asprintf(&all, "%s  %s", place, text_of(sources, l)) < 0)
		all = NULL;
	free(place);
	return all;
}

static void add_line(struct report *r, const struct tw_cost_line *l, const char *text, const char *line)
{
	tw_rows_add(&r->rows, (union tw_row_cell[]){{{l->self.insns, r->costs.totals.insns}},
	                                            {{l->self.insns, 0}},
	                                            {{l->self.refs, 0}},
	                                            {{l->self.reads, 0}},
	                                            {{l->self.writes, 0}},
	                                            {.text = l->function},
	                                            {.text = l->module},
	                                            {.text = l->file ? l->file : ""},
	                                            {{l->line, 0}},
	                                            {.text = text},
	                                            {.text = line ? line : ""}});
}

static int print_lines(struct report *r)
{
	static const struct tw_row_column columns[] = {
	    {NULL, "self", TW_ROW_SHARE, 0},       {"instructions", "insns", TW_ROW_COUNT, 0},
	    {"refs", "refs", TW_ROW_COUNT, 0},     {"reads", "reads", TW_ROW_COUNT, 0},
	    {"writes", "writes", TW_ROW_COUNT, 0}, {"function", NULL, TW_ROW_TEXT, 0},
	    {"module", NULL, TW_ROW_TEXT, 0},      {"file", NULL, TW_ROW_TEXT, 0},
	    {"line", NULL, TW_ROW_COUNT, 0},       {"text", NULL, TW_ROW_TEXT, 0},
	    {NULL, "line", TW_ROW_TEXT, 0},        {NULL, NULL, 0, 0},
	};
	struct tw_sources sources;
	tw_sources_init(&sources, r->recording);
	sorted_by = r->sort;
	if (r->costs.n_lines)
		qsort(r->costs.lines, r->costs.n_lines, sizeof *r->costs.lines, by_line);
	tw_rows_begin(&r->rows, "lines", "Source lines, by themselves", columns);
	for (size_t i = 0; i < r->costs.n_lines; i++) {
		const struct tw_cost_line *l = &r->costs.lines[i];
		if (!report_is_shown(r, l->function, l->module))
			continue;
		char *line = !r->rows.top || i < r->rows.top || r->function || r->module ? line_of(&sources, l) : NULL;
		add_line(r, l, r->rows.form ? text_of(&sources, l) : "", line);
		free(line);
	}
	const struct tw_absent *idle = idle_function(r);
	if (idle) {
		const struct tw_cost_line begin = {
		    .function = idle->function, .module = idle->module, .file = idle->file, .line = idle->line};
		add_line(r, &begin, text_of(&sources, &begin), NULL);
	}
	tw_rows_end(&r->rows);
	tw_sources_free(&sources);
	return 0;
}

/* ---- memory ---- */

static int by_refs(const void *a, const void *b)
{
	const struct tw_cost_line *x = a, *y = b;
	if (x->self.refs != y->self.refs)
		return x->self.refs > y->self.refs ? -1 : 1;
	return by_line(a, b);
}

/* The instructions with most references on the lines shown; returns their number. */
static size_t choose_strides(struct report *r, struct tw_stride *items)
{
	size_t n = 0, most = r->most_rows && r->most_rows < REPORT_STRIDES ? r->most_rows : REPORT_STRIDES;
	if (r->costs.n_lines)
		qsort(r->costs.lines, r->costs.n_lines, sizeof *r->costs.lines, by_refs);
	for (size_t i = 0; i < r->costs.n_lines && n < most; i++)
		if (r->costs.lines[i].pc_refs && report_is_shown(r, r->costs.lines[i].function, r->costs.lines[i].module))
			items[n++].pc = r->costs.lines[i].pc;
	qsort(items, n, sizeof *items, tw_by_number);
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (!kept || items[kept - 1].pc != items[i].pc)
			items[kept++].pc = items[i].pc;
	return kept;
}

/* Finds the strides, unless they have been found for another form. */
static int find_strides(struct report *r, const struct tw_replay_options *replay)
{
	if (r->n_strides)
		return 0;
	r->n_strides = choose_strides(r, r->strides);
	return tw_strides(r->recording, replay, r->strides, r->n_strides);
}

static int print_memory(struct report *r, const struct tw_replay_options *replay)
{
	static const struct tw_row_column columns[] = {
	    {"refs", "refs", TW_ROW_COUNT, 0},
	    {"bytes", "bytes", TW_ROW_COUNT, 0},
	    {"cache_lines", "lines", TW_ROW_COUNT, 0},
	    {"stride", "stride", TW_ROW_SIGNED, 8},
	    {NULL, "of all", TW_ROW_SHARE, 0},
	    {"strides_like_it", NULL, TW_ROW_COUNT, 0},
	    {"address", NULL, TW_ROW_ADDRESS, 0},
	    {"function", NULL, TW_ROW_TEXT, 0},
	    {"module", NULL, TW_ROW_TEXT, 0},
	    {"file", NULL, TW_ROW_TEXT, 0},
	    {"line", NULL, TW_ROW_COUNT, 0},
	    {NULL, "line", TW_ROW_TEXT, 0},
	    {NULL, NULL, 0, 0},
	};
	struct tw_sources sources;
	int error = find_strides(r, replay);
	const struct tw_stride *items = r->strides;
	const size_t n = r->n_strides;
	if (error)
		return error;
	tw_sources_init(&sources, r->recording);
	tw_rows_begin(&r->rows, "memory",
	              "Of each line the instruction with most references: bytes, distinct cache lines, its usual stride", columns);
	for (size_t i = 0; i < r->costs.n_lines; i++) {
		const struct tw_cost_line *l = &r->costs.lines[i];
		size_t at = tw_array_before(&l->pc, items, n, sizeof *items, tw_by_number);
		const struct tw_stride *s = at < n && items[at].pc == l->pc ? &items[at] : NULL;
		if (!s || !report_is_shown(r, l->function, l->module))
			continue;
		char *line = line_of(&sources, l);
		tw_rows_add(&r->rows, (union tw_row_cell[]){{{s->refs, 0}},
		                                            {{s->bytes, 0}},
		                                            {{s->lines, 0}},
		                                            {.difference = s->stride},
		                                            {{s->strode, s->refs}},
		                                            {{s->strode, 0}},
		                                            {{s->pc, 0}},
		                                            {.text = l->function},
		                                            {.text = l->module},
		                                            {.text = l->file ? l->file : ""},
		                                            {{l->line, 0}},
		                                            {.text = line ? line : ""}});
		free(line);
	}
	tw_rows_end(&r->rows);
	tw_sources_free(&sources);
	return 0;
}

/* ---- blocks ---- */

static int by_insns(const void *a, const void *b)
{
	const struct tw_hot_block *x = a, *y = b;
	if (x->counts.insns != y->counts.insns)
		return x->counts.insns > y->counts.insns ? -1 : 1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

static int print_blocks(struct report *r)
{
	static const struct tw_row_column columns[] = {
	    {NULL, "self", TW_ROW_SHARE, 0},       {"instructions", "insns", TW_ROW_COUNT, 0},
	    {"refs", "refs", TW_ROW_COUNT, 0},     {"reads", "reads", TW_ROW_COUNT, 0},
	    {"writes", "writes", TW_ROW_COUNT, 0}, {"runs", "runs", TW_ROW_COUNT, 0},
	    {"function", NULL, TW_ROW_TEXT, 0},    {"module", NULL, TW_ROW_TEXT, 0},
	    {"address", NULL, TW_ROW_ADDRESS, 0},  {"offset", NULL, TW_ROW_COUNT, 0},
	    {"file", NULL, TW_ROW_TEXT, 0},        {"line", NULL, TW_ROW_COUNT, 0},
	    {NULL, "block", TW_ROW_TEXT, 0},       {NULL, NULL, 0, 0},
	};
	if (r->costs.hot.n_blocks)
		qsort(r->costs.hot.blocks, r->costs.hot.n_blocks, sizeof *r->costs.hot.blocks, by_insns);
	tw_rows_begin(&r->rows, "blocks", "Basic blocks", columns);
	for (size_t i = 0; i < r->costs.hot.n_blocks; i++) {
		const struct tw_hot_block *b = &r->costs.hot.blocks[i];
		struct tw_code_name name;
		char offset[32] = "", *function = NULL, *place = NULL;
		tw_names_code(r->names, b->image, b->pc, &name);
		if (!report_is_shown(r, name.function, name.module))
			continue;
		if (name.offset)
			snprintf(offset, sizeof offset, "+0x%llx", (unsigned long long)name.offset);
		if (asprintf(&function, "%s%s", name.function, offset) < 0)
			return TW_ERR_MEMORY;
		place = report_place_of(function, name.module, name.file, name.line);
		tw_rows_add(&r->rows, (union tw_row_cell[]){{{b->counts.insns, r->costs.totals.insns}},
		                                            {{b->counts.insns, 0}},
		                                            {{b->counts.refs, 0}},
		                                            {{b->counts.reads, 0}},
		                                            {{b->counts.writes, 0}},
		                                            {{b->counts.executions, 0}},
		                                            {.text = name.function},
		                                            {.text = name.module},
		                                            {{b->pc, 0}},
		                                            {{name.offset, 0}},
		                                            {.text = name.file ? tw_base_name(name.file) : ""},
		                                            {{name.line, 0}},
		                                            {.text = place ? place : function}});
		free(function);
		free(place);
	}
	tw_rows_end(&r->rows);
	return 0;
}

/* ---- all ---- */

static int print_table(struct report *r, const struct tw_replay_options *replay)
{
	int needs_calls = r->table != REPORT_FUNCTIONS && r->table != REPORT_BLOCKS;
	if (needs_calls && !r->costs.has_code)
		return fprintf(stderr, "trackway report: %s: this was imported from addresses only: there are no lines and calls\n",
		               r->dir),
		       1;
	switch (r->table) {
	case REPORT_LINES:
		return print_lines(r);
	case REPORT_MEMORY:
		return print_memory(r, replay);
	case REPORT_BLOCKS:
		return print_blocks(r);
	case REPORT_CALLERS:
	case REPORT_CALLEES:
		return report_pairs(r);
	case REPORT_TREE:
		return report_tree(r);
	default:
		return print_functions(r);
	}
}

int report_print(struct report *r, const struct tw_replay_options *replay)
{
	struct tw_json j = {.f = r->rows.f};
	r->rows.json = &j;
	if (r->rows.form == TW_ROWS_TEXT) {
		print_totals(r);
		tw_died_print(r->rows.f, r->recording, r->names);
	}
	int is_json = r->rows.form == TW_ROWS_JSON;
	if (is_json) {
		tw_json_begin(&j, "report");
		json_head(&j, r);
	}
	r->rows.late = r->function || r->module || r->of;
	r->zero_rows = 0;
	int status = print_table(r, replay);
	if (!status)
		status = report_judge(r);
	if (is_json)
		tw_json_close(&j, '}');
	return status;
}

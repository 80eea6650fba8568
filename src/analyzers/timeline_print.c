/* The answers of timeline: functions, single calls, a trace for a viewer (the Trace Event Format of chrome://tracing). */
#include "analyzers/timeline_state.h"
#include "base/array.h"
#include "export/syscalls.h"
#include "report/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <trackway/names.h>
#include <trackway/recording.h>

struct named {
	const char *function, *module; /* as the names have them */
	struct tw_timeline_function counts;
};

static uint64_t ns_between(const struct tw_timeline *t, uint64_t from, uint64_t to)
{
	const uint64_t hz = tw_recording_info(tw_context_recording(t->context))->tsc_hz;
	return hz && to > from ? (uint64_t)((double)(to - from) * 1e9 / (double)hz) : 0;
}

/* Since the recording started. */
static uint64_t ns_at(const struct tw_timeline *t, uint64_t tsc)
{
	return ns_between(t, tw_recording_info(tw_context_recording(t->context))->tsc_start, tsc);
}

static void name_block(const struct tw_timeline *t, struct tw_names *names, uint32_t block, struct tw_code_name *name)
{
	const struct tw_context_block *b = &t->tree->blocks[block];
	tw_names_code(names, tw_names_image(names, b->thread), b->pc, name);
}

/* ---- functions ---- */

/* By name: a file that several processes have at different addresses counts once. */
static int by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	const int order = strcmp(x->function, y->function);
	return order ? order : strcmp(x->module, y->module);
}

/* How far the longest call stands out from the mean of all. */
static double time_beyond(const struct named *n)
{
	return (double)n->counts.by_cycles.cycles - (double)n->counts.cycles / (double)n->counts.calls;
}

static double insns_beyond(const struct named *n)
{
	return (double)n->counts.by_insns.insns - (double)n->counts.insns / (double)n->counts.calls;
}

static int by_time(const void *a, const void *b)
{
	const double x = time_beyond(a), y = time_beyond(b);
	return x != y ? (x > y ? -1 : 1) : by_name(a, b);
}

static int by_insns(const void *a, const void *b)
{
	const double x = insns_beyond(a), y = insns_beyond(b);
	return x != y ? (x > y ? -1 : 1) : by_name(a, b);
}

/* One item for each function that was called; returns how many. */
static size_t name_functions(const struct tw_timeline *t, struct tw_names *names, struct named *to)
{
	size_t n = 0, joined = 0;
	for (uint32_t i = 0; i < t->functions_room; i++) {
		struct tw_code_name name;
		if (!t->functions[i].calls)
			continue;
		name_block(t, names, i, &name);
		to[n++] = (struct named){name.function, name.module, t->functions[i]};
	}
	if (n)
		qsort(to, n, sizeof *to, by_name);
	for (size_t i = 0; i < n; i++) {
		if (joined && !by_name(&to[joined - 1], &to[i]))
			tw_timeline_add(&to[joined - 1].counts, &to[i].counts);
		else
			to[joined++] = to[i];
	}
	return joined;
}

static void print_by_time(const struct tw_timeline *t, struct tw_answer *a, const struct named *n, size_t n_functions)
{
	static const struct tw_column columns[] = {
	    {"calls", TW_COLUMN_COUNT}, {"mean_ns", TW_COLUMN_COUNT}, {"longest_ns", TW_COLUMN_COUNT}, {"instructions", TW_COLUMN_COUNT},
	    {"at_us", TW_COLUMN_COUNT}, {"thread", TW_COLUMN_COUNT},  {"function", TW_COLUMN_TEXT},    {NULL, 0}};
	tw_answer_table(a, "functions", "Functions whose longest call stands out most, by time", columns);
	for (; n_functions--; n++) {
		const struct tw_timeline_longest *longest = &n->counts.by_cycles;
		tw_answer_row(a, (struct tw_cell[]){{.count = n->counts.calls},
		                                    {.count = ns_between(t, 0, n->counts.cycles) / n->counts.calls},
		                                    {.count = ns_between(t, 0, longest->cycles)},
		                                    {.count = longest->insns},
		                                    {.count = ns_at(t, longest->begin) / 1000},
		                                    {.count = longest->thread},
		                                    {.text = n->function}});
	}
}

static void print_by_insns(const struct tw_timeline *t, struct tw_answer *a, const struct named *n, size_t n_functions)
{
	static const struct tw_column columns[] = {
	    {"calls", TW_COLUMN_COUNT}, {"mean_insns", TW_COLUMN_COUNT}, {"longest_insns", TW_COLUMN_COUNT}, {"ns", TW_COLUMN_COUNT},
	    {"at_us", TW_COLUMN_COUNT}, {"thread", TW_COLUMN_COUNT},     {"function", TW_COLUMN_TEXT},       {NULL, 0}};
	tw_answer_table(a, "functions", "Functions whose longest call stands out most, by instructions", columns);
	for (; n_functions--; n++) {
		const struct tw_timeline_longest *longest = &n->counts.by_insns;
		tw_answer_row(a, (struct tw_cell[]){{.count = n->counts.calls},
		                                    {.count = n->counts.insns / n->counts.calls},
		                                    {.count = longest->insns},
		                                    {.count = ns_between(t, 0, longest->cycles)},
		                                    {.count = ns_at(t, longest->begin) / 1000},
		                                    {.count = longest->thread},
		                                    {.text = n->function}});
	}
}

static int print_functions(const struct tw_timeline *t, struct tw_names *names)
{
	const int is_by_insns = !strcmp(tw_context_text(t->context, "by"), "insns");
	struct tw_answer *a = tw_context_answer(t->context);
	struct named *functions = calloc(t->functions_room + 1, sizeof *functions);
	if (!functions)
		return TW_ERR_MEMORY;
	const size_t n = name_functions(t, names, functions);
	uint64_t calls = 0;
	for (size_t i = 0; i < n; i++)
		calls += functions[i].counts.calls;
	if (n)
		qsort(functions, n, sizeof *functions, is_by_insns ? by_insns : by_time);
	tw_answer_fact(a, "calls", calls);
	if (is_by_insns)
		print_by_insns(t, a, functions, n);
	else
		print_by_time(t, a, functions, n);
	free(functions);
	return 0;
}

/* ---- single calls ---- */

static int by_begin(const void *a, const void *b)
{
	const struct tw_timeline_call *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

static void print_calls(const struct tw_timeline *t, struct tw_names *names)
{
	static const struct tw_column columns[] = {{"at_us", TW_COLUMN_REAL},
	                                           {"us", TW_COLUMN_REAL},
	                                           {"instructions", TW_COLUMN_COUNT},
	                                           {"thread", TW_COLUMN_COUNT},
	                                           {"depth", TW_COLUMN_COUNT},
	                                           {"function", TW_COLUMN_TEXT},
	                                           {NULL, 0}};
	struct tw_answer *a = tw_context_answer(t->context);
	tw_answer_table(a, "calls", "The longest calls, in order of their start", columns);
	for (size_t i = 0; i < t->n_calls; i++) {
		const struct tw_timeline_call *c = &t->calls[i];
		struct tw_code_name name;
		name_block(t, names, c->block, &name);
		tw_answer_row(a, (struct tw_cell[]){{.real = (double)ns_at(t, c->begin) / 1e3},
		                                    {.real = (double)ns_between(t, c->begin, c->end) / 1e3},
		                                    {.count = c->insns},
		                                    {.count = c->thread},
		                                    {.count = c->depth},
		                                    {.text = name.function}});
	}
}

/* ---- a trace ---- */

/* The thread of the system, by the number in the recording. */
static void put_thread(struct tw_json *j, const struct tw_timeline *t, uint32_t thread)
{
	const struct tw_recording *r = tw_context_recording(t->context);
	const size_t i = tw_recording_find_thread(r, thread);
	const struct tw_thread_info *info = i < tw_recording_n_threads(r) ? tw_recording_thread(r, i) : NULL;
	tw_json_number(j, "pid", info ? info->pid : 0);
	tw_json_number(j, "tid", info ? info->tid : thread);
}

/* One event; its arguments follow, and two brackets. */
static void open_slice(struct tw_json *j, const struct tw_timeline *t, const char *name, const char *category, uint32_t thread,
                       uint64_t begin, uint64_t end)
{
	const uint64_t at = ns_at(t, begin);
	tw_json_open(j, NULL, '{');
	tw_json_text(j, "name", name);
	tw_json_text(j, "cat", category);
	tw_json_text(j, "ph", "X");
	tw_json_real(j, "ts", (double)at / 1e3);
	tw_json_real(j, "dur", (double)(ns_at(t, end) - at) / 1e3);
	put_thread(j, t, thread);
	tw_json_open(j, "args", '{');
}

static void close_slice(struct tw_json *j)
{
	tw_json_close(j, '}');
	tw_json_close(j, '}');
}

static void put_thread_names(struct tw_json *j, const struct tw_timeline *t)
{
	const struct tw_recording *r = tw_context_recording(t->context);
	for (size_t i = 0; i < tw_recording_n_threads(r); i++) {
		char name[32];
		snprintf(name, sizeof name, "thread %" PRIu32, tw_recording_thread(r, i)->serial);
		tw_json_open(j, NULL, '{');
		tw_json_text(j, "name", "thread_name");
		tw_json_text(j, "ph", "M");
		put_thread(j, t, tw_recording_thread(r, i)->serial);
		tw_json_open(j, "args", '{');
		tw_json_text(j, "name", name);
		close_slice(j);
	}
}

static void put_call(struct tw_json *j, const struct tw_timeline *t, struct tw_names *names, const struct tw_timeline_call *c)
{
	struct tw_code_name name;
	name_block(t, names, c->block, &name);
	open_slice(j, t, name.function, "call", c->thread, c->begin, c->end);
	tw_json_number(j, "instructions", c->insns);
	tw_json_text(j, "module", name.module);
	close_slice(j);
}

static void put_wait(struct tw_json *j, const struct tw_timeline *t, const struct tw_timeline_wait *w)
{
	const char *name = tw_syscall_name(w->number);
	char number[32];
	snprintf(number, sizeof number, "system call %" PRIu64, w->number);
	open_slice(j, t, name ? name : number, "syscall", w->thread, w->begin, w->end);
	close_slice(j);
}

static void print_perfetto(const struct tw_timeline *t, struct tw_names *names)
{
	struct tw_json j = {.f = tw_answer_stream(tw_context_answer(t->context))};
	tw_json_open(&j, NULL, '{');
	tw_json_text(&j, "displayTimeUnit", "ns");
	tw_json_open(&j, "traceEvents", '[');
	put_thread_names(&j, t);
	for (size_t i = 0; i < t->n_calls; i++)
		put_call(&j, t, names, &t->calls[i]);
	for (size_t i = 0; i < t->n_waits; i++)
		put_wait(&j, t, &t->waits[i]);
	tw_json_close(&j, ']');
	tw_json_close(&j, '}');
}

int tw_timeline_print(struct tw_timeline *t)
{
	struct tw_names *names = tw_context_names(t->context);
	if (!names)
		return TW_ERR_MEMORY;
	if (t->n_calls)
		qsort(t->calls, t->n_calls, sizeof *t->calls, by_begin);
	if (tw_context_flag(t->context, "perfetto"))
		print_perfetto(t, names);
	else if (tw_context_flag(t->context, "calls"))
		print_calls(t, names);
	else
		return print_functions(t, names);
	return 0;
}

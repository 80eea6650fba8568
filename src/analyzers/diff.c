/*
 * diff: two recordings of the same program: where control flow first diverges, by thread and by file, and which
 * functions, lines and edges ran more often in one than in the other.
 *
 * Both are converted to a form that does not depend on where files were mapped (flow_trace.h). The other recording is
 * replayed after this one. Where sequences of runs diverge, both are replayed once more, and the runs around that
 * place are compared one by one.
 */
#include "analyzers/by_place.h"
#include "analyzers/flow_trace.h"
#include "base/array.h"
#include "plugin/stage.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/context.h>
#include <unistd.h>

/* The sides, and by_place's counts: what is in the one, the other, and the difference. */
enum { OLD, NEW, CHANGE };

struct state {
	const struct tw_context *context;
	struct tw_flow_source source;
	struct tw_flow_trace trace;
};

/* The comparison. */
struct diff {
	const struct tw_context *context;
	struct tw_context *other_context;
	struct tw_flow_source source[2];
	struct tw_flow_trace *trace[2];
	struct tw_recording *other;
	struct tw_flow_wanted *wanted[2]; /* side by side: the same sequences */
	size_t n_wanted, wanted_room[2];
};

static void free_state(struct state *s)
{
	tw_flow_trace_free(&s->trace);
	free(s);
}

static struct state *new_state(const struct tw_context *c, const struct tw_flow_source *source)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = c;
	s->source = *source;
	s->trace.source = &s->source;
	return s;
}

static void *begin(void *arg)
{
	const struct tw_flow_source source = {tw_context_recording(arg), tw_context_names(arg), NULL, 0};
	return source.names ? new_state(arg, &source) : NULL;
}

static int batch(void *state, const struct tw_batch *b)
{
	return tw_flow_trace_batch(&((struct state *)state)->trace, b);
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int error = tw_flow_trace_merge(&s->trace, &from->trace);
	free_state(from);
	return error;
}

/* ---- replaying once more ---- */

/* Input and output of a replay that this analyzer makes itself. */
struct pass {
	const struct tw_flow_source *source;
	struct state *kept;
};

static void *begin_pass(void *arg)
{
	const struct pass *p = arg;
	struct state *s = new_state(NULL, p->source);
	if (s)
		s->context = arg; /* for its end */
	return s;
}

static int end_pass(void *state, int error)
{
	struct state *s = state;
	struct pass *p = (struct pass *)(uintptr_t)s->context;
	if (error)
		free_state(s);
	else
		p->kept = s;
	return 0;
}

static int is_wanted(void *context, size_t thread, size_t chunk)
{
	const struct tw_flow_source *s = context;
	(void)chunk;
	for (size_t i = 0; i < s->n_wanted; i++)
		if (s->wanted[i].thread == tw_recording_thread(s->recording, thread)->serial)
			return 1;
	return !s->n_wanted;
}

/* Damaged chunks are skipped: a replay of this recording by itself reports them. */
static int pass_over(void *context, size_t thread, size_t chunk, int error)
{
	(void)context, (void)thread, (void)chunk, (void)error;
	return 0;
}

/* Through the window that was asked for, which holds for both recordings. */
static int replay(struct pass *p, const struct tw_context *c)
{
	static const struct tw_analyzer tracer = {
	    .name = "diff", .begin = begin_pass, .batch = batch, .merge = merge, .end = end_pass, .scope = TW_SCOPE_THREADS};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const struct tw_replay_options options = {
	    .jobs = cpus > 0 ? (unsigned)cpus : 1, .select = is_wanted, .damage = pass_over, .context = (void *)p->source};
	return tw_stage_replay(c, &options, &tracer, p);
}

/* ---- the other recording ---- */

static int open_other(struct diff *d)
{
	const char *dir = tw_context_text(d->context, "against");
	int error = tw_recording_open(dir, &d->other);
	if (!error)
		error = tw_recording_replayable(d->other);
	if (error)
		return tw_context_wrong(d->context, "%s: %s", dir, tw_error_text(error));
	d->other_context = tw_context_of_other(d->context, d->other);
	struct tw_names *names = d->other_context ? tw_context_names(d->other_context) : NULL;
	d->source[OLD] = (struct tw_flow_source){d->other, names, NULL, 0};
	return names ? 0 : TW_ERR_MEMORY;
}

/* A replay of it failed: reports the error with its name. */
static int replay_other(const struct diff *d, struct pass *p)
{
	int error = replay(p, d->other_context);
	if (error > 0 && tw_context_complaint(d->other_context)[0])
		return tw_context_wrong(d->context, "%s: %s", tw_context_text(d->context, "against"),
		                        tw_context_complaint(d->other_context));
	return error;
}

/* ---- where sequences part ---- */

static int want(struct diff *d, uint32_t thread, uint64_t file, uint64_t first)
{
	for (int side = OLD; side <= NEW; side++) {
		struct tw_flow_wanted *w = tw_array_room(d->wanted[side], d->n_wanted, &d->wanted_room[side], sizeof *w);
		if (!w)
			return TW_ERR_MEMORY;
		d->wanted[side] = w;
		w[d->n_wanted] = (struct tw_flow_wanted){.thread = thread, .file = file, .first = first};
	}
	d->n_wanted++;
	return 0;
}

/* How many steps of a sequence are the same in both. */
static uint64_t same_steps(const struct diff *d, uint64_t sequence)
{
	for (uint64_t n = 0;; n++) {
		uint32_t a = tw_rows_find(&d->trace[OLD]->checkpoints, sequence, n + 1),
		         b = tw_rows_find(&d->trace[NEW]->checkpoints, sequence, n + 1);
		if (a == TW_ROWS_NONE || b == TW_ROWS_NONE ||
		    *tw_rows_counts(&d->trace[OLD]->checkpoints, a) != *tw_rows_counts(&d->trace[NEW]->checkpoints, b))
			return n;
	}
}

/* Sequences of a thread and a file: how many are the same in both, and how many only one of them has. */
struct compared {
	uint64_t same, only[2];
};

/* A sequence of the new recording: asks for its runs around where it parts. */
static int compare_sequence(struct diff *d, size_t number, struct compared *c)
{
	const uint64_t *key = tw_rows_key(&d->trace[NEW]->sequences, number), *own = key + 2;
	uint32_t other = tw_rows_find(&d->trace[OLD]->sequences, key[0], key[1]);
	if (other == TW_ROWS_NONE) {
		c->only[NEW]++;
		return 0;
	}
	const uint64_t *old = tw_rows_counts(&d->trace[OLD]->sequences, other);
	if (old[TW_FLOW_HASH] == own[TW_FLOW_HASH] && old[TW_FLOW_RUNS] == own[TW_FLOW_RUNS]) {
		c->same++;
		return 0;
	}
	return want(d, (uint32_t)key[0], key[1], same_steps(d, tw_flow_sequence((uint32_t)key[0], key[1])) * TW_FLOW_STEP);
}

/* Both once more, for the runs that were asked for. */
static int find_runs(struct diff *d)
{
	int error = 0;
	for (int side = OLD; side <= NEW && d->n_wanted && !error; side++) {
		struct tw_flow_source source = d->source[side];
		struct pass p = {.source = &source};
		source.wanted = d->wanted[side];
		source.n_wanted = d->n_wanted;
		error = replay(&p, side == OLD ? d->other_context : d->context);
		if (p.kept)
			free_state(p.kept);
	}
	return error;
}

/* How many of the runs that were found are the same. */
static size_t same_runs(const struct tw_flow_wanted *a, const struct tw_flow_wanted *b)
{
	size_t n = 0;
	while (n < a->n && n < b->n && a->runs[n].start == b->runs[n].start && a->runs[n].end == b->runs[n].end)
		n++;
	return n;
}

/* ---- the answer ---- */

/* Names an instruction by its number, of either side. */
static void name_place(const struct diff *d, uint64_t place, char *to, size_t size)
{
	snprintf(to, size, "-");
	for (int side = NEW; side >= OLD; side--) {
		uint32_t number = place ? tw_rows_find(&d->trace[side]->places, place, 0) : TW_ROWS_NONE;
		if (number == TW_ROWS_NONE)
			continue;
		const uint64_t *at = tw_rows_counts(&d->trace[side]->places, number);
		struct tw_names *names = d->source[side].names;
		tw_place_of_code(names, tw_names_image(names, (uint32_t)at[TW_FLOW_THREAD]), at[TW_FLOW_PC], to, size);
		return;
	}
}

/* Where a differing run goes: to its end if it started at the same place. */
static uint64_t differs_at(const struct tw_flow_run *r, const struct tw_flow_run *other)
{
	return !r ? 0 : other && r->start == other->start ? r->end : r->start;
}

static void print_parting(struct tw_answer *a, const struct diff *d, size_t i)
{
	const struct tw_flow_wanted *old = &d->wanted[OLD][i], *new = &d->wanted[NEW][i];
	size_t n = same_runs(old, new);
	const struct tw_flow_run *from = n < old->n ? &old->runs[n] : NULL, *to = n < new->n ? &new->runs[n] : NULL;
	const struct tw_flow_run *last = n ? &new->runs[n - 1] : NULL;
	uint64_t behind = from && to && from->start == to->start ? from->start : last ? last->end : 0;
	char after[400], goes[2][400];
	name_place(d, behind, after, sizeof after);
	name_place(d, differs_at(from, to), goes[OLD], sizeof goes[OLD]);
	name_place(d, differs_at(to, from), goes[NEW], sizeof goes[NEW]);
	tw_answer_row(a, (struct tw_cell[]){{.count = new->thread},
	                                    {.count = to     ? to->insn
	                                              : last ? last->insn
	                                                     : 0},
	                                    {.text = after},
	                                    {.text = goes[OLD]},
	                                    {.text = goes[NEW]}});
}

/* By thread, and in it by the instruction. */
static int by_instruction(const void *a, const void *b, void *diff)
{
	const struct diff *d = diff;
	const struct tw_flow_wanted *x = &d->wanted[NEW][*(const size_t *)a], *y = &d->wanted[NEW][*(const size_t *)b];
	size_t n = same_runs(&d->wanted[OLD][*(const size_t *)a], x), m = same_runs(&d->wanted[OLD][*(const size_t *)b], y);
	uint64_t i = n < x->n ? x->runs[n].insn : UINT64_MAX, k = m < y->n ? y->runs[m].insn : UINT64_MAX;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return i != k ? (i < k ? -1 : 1) : (x->file > y->file) - (x->file < y->file);
}

static int print_partings(struct tw_answer *a, struct diff *d)
{
	static const struct tw_column columns[] = {{"thread", TW_COLUMN_COUNT}, {"instruction", TW_COLUMN_COUNT}, {"after", TW_COLUMN_TEXT},
	                                           {"old", TW_COLUMN_TEXT},     {"new", TW_COLUMN_TEXT},          {NULL, 0}};
	size_t *order = malloc((d->n_wanted + 1) * sizeof *order);
	if (!order)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < d->n_wanted; i++)
		order[i] = i;
	qsort_r(order, d->n_wanted, sizeof *order, by_instruction, d);
	tw_answer_table(a, "partings", "Where control flow first diverges, by thread and file", columns);
	for (size_t i = 0; i < d->n_wanted; i++)
		print_parting(a, d, order[i]);
	free(order);
	return 0;
}

/* ---- what grew ---- */

struct adding {
	struct tw_by_place *to;
	struct tw_names *names;
	int side;
};

static int add_insn(void *context, uint32_t thread, uint64_t pc, uint64_t n)
{
	const struct adding *a = context;
	uint64_t count[TW_PLACE_COUNTS] = {0};
	count[a->side] = n;
	return tw_by_place_add_named(a->to, a->names, tw_names_image(a->names, thread), pc, count);
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void set_changes(struct tw_by_place *p)
{
	for (size_t i = 0; i < p->n; i++)
		p->items[i].count[CHANGE] = difference(p->items[i].count[OLD], p->items[i].count[NEW]);
}

static void print_changes(struct tw_answer *a, const struct tw_by_place *p, int lines)
{
	static const struct tw_column columns[2][6] = {{{"old", TW_COLUMN_COUNT},
	                                                {"new", TW_COLUMN_COUNT},
	                                                {"change", TW_COLUMN_CHANGE},
	                                                {"function", TW_COLUMN_TEXT},
	                                                {"module", TW_COLUMN_TEXT},
	                                                {NULL, 0}},
	                                               {{"old", TW_COLUMN_COUNT},
	                                                {"new", TW_COLUMN_COUNT},
	                                                {"change", TW_COLUMN_CHANGE},
	                                                {"line", TW_COLUMN_TEXT},
	                                                {"module", TW_COLUMN_TEXT},
	                                                {NULL, 0}}};
	char place[400];
	tw_answer_table(a, lines ? "lines" : "functions",
	                lines ? "Lines whose instructions changed" : "Functions whose instructions changed", columns[lines]);
	for (size_t i = 0; i < p->n && p->items[i].count[CHANGE]; i++) {
		const struct tw_place *at = &p->items[i];
		tw_place_text(at, place, sizeof place);
		tw_answer_row(a, (struct tw_cell[]){{.count = at->count[OLD]},
		                                    {.count = at->count[NEW]},
		                                    {.change = (int64_t)(at->count[NEW] - at->count[OLD])},
		                                    {.text = lines ? place : at->function},
		                                    {.text = at->module}});
	}
}

static int print_places(struct tw_answer *a, struct diff *d)
{
	struct tw_by_place places = {.context = d->context};
	int error = 0;
	for (int side = OLD; side <= NEW && !error; side++) {
		struct adding adding = {&places, d->source[side].names, side};
		error = tw_flow_insns(d->trace[side], add_insn, &adding);
	}
	if (!error) {
		tw_by_place_lines(&places, NEW);
		set_changes(&places);
		tw_by_place_lines(&places, CHANGE);
		print_changes(a, &places, 1);
		tw_by_place_functions(&places, NEW);
		set_changes(&places);
		tw_by_place_functions(&places, CHANGE);
		print_changes(a, &places, 0);
	}
	tw_by_place_free(&places);
	return error;
}

static int by_change(const void *a, const void *b, void *rows)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t *n = tw_rows_counts(rows, x), *m = tw_rows_counts(rows, y);
	uint64_t c = difference(n[OLD], n[NEW]), e = difference(m[OLD], m[NEW]);
	return c != e ? (c > e ? -1 : 1) : (x > y) - (x < y);
}

/* The edges of both sides, each with its two counts. 0 or TW_ERR_MEMORY. */
static int join_edges(const struct diff *d, struct tw_rows *both)
{
	for (int side = NEW; side >= OLD; side--) {
		const struct tw_rows *edges = &d->trace[side]->edges;
		for (size_t i = 0; i < edges->n; i++) {
			uint64_t *n = tw_rows_at(both, tw_rows_key(edges, i)[0], tw_rows_key(edges, i)[1]);
			if (!n)
				return TW_ERR_MEMORY;
			n[side] = *tw_rows_counts(edges, i);
		}
	}
	return 0;
}

static void print_edge_rows(struct tw_answer *a, const struct diff *d, struct tw_rows *both, uint32_t *order)
{
	static const struct tw_column columns[] = {
	    {"old", TW_COLUMN_COUNT}, {"new", TW_COLUMN_COUNT}, {"from", TW_COLUMN_TEXT}, {"to", TW_COLUMN_TEXT}, {NULL, 0}};
	char from[400], to[400];
	for (uint32_t i = 0; i < both->n; i++)
		order[i] = i;
	qsort_r(order, both->n, sizeof *order, by_change, both);
	tw_answer_table(a, "edges", "Jumps, calls and returns whose number changed", columns);
	for (size_t i = 0; i < both->n; i++) {
		const uint64_t *n = tw_rows_counts(both, order[i]);
		if (n[OLD] == n[NEW])
			break;
		name_place(d, tw_rows_key(both, order[i])[0], from, sizeof from);
		name_place(d, tw_rows_key(both, order[i])[1], to, sizeof to);
		tw_answer_row(a, (struct tw_cell[]){{.count = n[OLD]}, {.count = n[NEW]}, {.text = from}, {.text = to}});
	}
}

static int print_edges(struct tw_answer *a, const struct diff *d)
{
	struct tw_rows both = {.width = 2};
	int error = join_edges(d, &both);
	uint32_t *order = error ? NULL : malloc((both.n + 1) * sizeof *order);
	if (order)
		print_edge_rows(a, d, &both, order);
	free(order);
	tw_rows_free(&both);
	return order ? 0 : TW_ERR_MEMORY;
}

static int compare_sequences(struct diff *d, struct compared *c)
{
	const struct tw_rows *old = &d->trace[OLD]->sequences, *new = &d->trace[NEW]->sequences;
	int error = 0;
	for (size_t i = 0; i < new->n && !error; i++)
		error = compare_sequence(d, i, c);
	for (size_t i = 0; i < old->n; i++)
		c->only[OLD] += tw_rows_find(new, tw_rows_key(old, i)[0], tw_rows_key(old, i)[1]) == TW_ROWS_NONE;
	return error;
}

static int compare_all(struct diff *d)
{
	struct tw_answer *a = tw_context_answer(d->context);
	struct compared c = {0};
	int error = compare_sequences(d, &c);
	error = error ? error : find_runs(d);
	if (error)
		return error;
	tw_answer_fact(a, "old_instructions", d->trace[OLD]->insns);
	tw_answer_fact(a, "new_instructions", d->trace[NEW]->insns);
	tw_answer_fact(a, "sequences_same", c.same);
	tw_answer_fact(a, "sequences_parted", d->n_wanted);
	tw_answer_fact(a, "sequences_only_old", c.only[OLD]);
	tw_answer_fact(a, "sequences_only_new", c.only[NEW]);
	error = print_partings(a, d);
	error = error ? error : print_places(a, d);
	return error ? error : print_edges(a, d);
}

static int diff(struct state *s)
{
	struct diff d = {.context = s->context, .trace = {[NEW] = &s->trace}, .source = {[NEW] = s->source}};
	struct pass first = {.source = &d.source[OLD]};
	int error = open_other(&d);
	error = error ? error : replay_other(&d, &first);
	if (!error) {
		d.trace[OLD] = &first.kept->trace;
		error = compare_all(&d);
		free_state(first.kept);
	}
	for (int side = OLD; side <= NEW; side++) {
		for (size_t i = 0; i < d.n_wanted; i++)
			free(d.wanted[side][i].runs);
		free(d.wanted[side]);
	}
	tw_context_free(d.other_context);
	if (d.other)
		tw_recording_close(d.other);
	return error;
}

static int end(void *state, int error)
{
	if (!error)
		error = diff(state);
	free_state(state);
	return error;
}

static const struct tw_option options[] = {
    {"against", TW_OPTION_TEXT, "OLD", NULL, "the old recording"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_diff = {
    .name = "diff",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "compare two recordings: control flow, and what ran more often",
    .help = "OLD is the old recording, DIR the new one, both of the same program. Threads are\n"
            "matched by number, code by file and address in the file. A selection (--thread,\n"
            "--from...) applies to both. Each file is compared separately, since what\n"
            "libraries do may depend on where the stack is. \"After\" is the last place that\n"
            "both runs share; \"old\" and \"new\" are where each went from there.\n",
    .options = options,
    .argument = "against",
    .needs = TW_NEEDS_FLOW | TW_NEEDS_NAMES,
    .scope = TW_SCOPE_THREADS,
};

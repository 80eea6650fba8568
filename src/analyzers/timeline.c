/*
 * timeline: when each function ran, call by call: how long its calls take, which one stands out, when that was; and
 * the longest calls as a trace for a viewer.
 *
 * The stack of calls is that of cct. A call ends when its frame has left the stack; a coroutine's calls end when it is
 * left and begin anew when it goes on. Instructions are exact. Times come from the events of a thread that have one:
 * system calls, the starts of its buffers, locks and calls with record --calls and --order. Between two of them, time
 * is taken to pass evenly with the instructions.
 */
#include "analyzers/timeline_state.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/* A call that has not returned. */
struct open_call {
	uint64_t begin, clock; /* instructions; the last time stamp before it */
	uint64_t slot, back;   /* of its frame */
	uint32_t node, block;
	int is_new; /* nothing but a stub has run of it */
};

/* A time stamp, before an instruction of a thread. */
struct point {
	uint64_t insn, tsc;
};

struct state {
	struct tw_timeline t;
	struct tw_cct_state *cct;
	struct tw_cct_observer observer;
	uint32_t thread;
	uint16_t n_insns; /* of the last block */
	uint64_t clock;   /* the last time stamp of the thread; 0: none */
	struct open_call *open;
	size_t n_open, open_room;
	struct point *points;
	size_t n_points, points_room;
	size_t first_call;  /* of t.calls: that of the thread */
	uint64_t too_light; /* what weighs no more is not kept of this thread: there are enough that do */
};

/* ---- functions ---- */

/* 0 or TW_ERR_MEMORY. */
static int add_function(struct tw_timeline *t, uint32_t block, const struct tw_timeline_function *more)
{
	struct tw_timeline_function *functions = tw_array_zeros(t->functions, block, &t->functions_room, sizeof *functions);
	if (!functions)
		return TW_ERR_MEMORY;
	t->functions = functions;
	tw_timeline_add(&functions[block], more);
	return 0;
}

/* ---- the longest calls ---- */

/* What a call weighs: by instructions, or, if it has waited, by time. A call never weighs less than one that it made. */
static uint64_t weight(const struct tw_timeline_call *c)
{
	return c->insns > c->cycles ? c->insns : c->cycles;
}

/* The heaviest first; a total order, so that what is kept does not depend on how threads were shared out. */
static int by_weight(const void *a, const void *b)
{
	const struct tw_timeline_call *x = a, *y = b;
	if (weight(x) != weight(y))
		return weight(x) > weight(y) ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->depth > y->depth) - (x->depth < y->depth);
}

static int by_wait(const void *a, const void *b)
{
	const struct tw_timeline_wait *x = a, *y = b;
	const uint64_t dx = x->end - x->begin, dy = y->end - y->begin;
	if (dx != dy)
		return dx > dy ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Keeps the `most` heaviest of the calls from number `first` on, if there are twice as many. Returns whether there were. */
static int thin_calls(struct tw_timeline *t, size_t first)
{
	const size_t n = t->n_calls - first;
	if (n < 2 * t->most)
		return 0;
	qsort(t->calls + first, n, sizeof *t->calls, by_weight);
	t->n_calls = first + t->most;
	return 1;
}

static int add_call(struct tw_timeline *t, const struct tw_timeline_call *call)
{
	struct tw_timeline_call *calls = tw_array_room(t->calls, t->n_calls, &t->calls_room, sizeof *calls);
	if (!calls)
		return TW_ERR_MEMORY;
	t->calls = calls;
	calls[t->n_calls++] = *call;
	return 0;
}

static void forget_waits(struct tw_timeline *t, size_t most)
{
	if (t->n_waits <= most)
		return;
	qsort(t->waits, t->n_waits, sizeof *t->waits, by_wait);
	t->n_waits = t->most;
}

static int add_wait(struct tw_timeline *t, const struct tw_timeline_wait *wait)
{
	forget_waits(t, 2 * t->most);
	struct tw_timeline_wait *waits = tw_array_room(t->waits, t->n_waits, &t->waits_room, sizeof *waits);
	if (!waits)
		return TW_ERR_MEMORY;
	t->waits = waits;
	waits[t->n_waits++] = *wait;
	return 0;
}

/* ---- time ---- */

/* More than this are thinned out: times become less exact. */
enum { MOST_POINTS = 1 << 20 };

static int add_point(struct state *s, uint64_t insn, uint64_t tsc)
{
	/* A keyframe may come between a system call's beginning and its event. */
	while (s->n_points && s->points[s->n_points - 1].insn == insn && s->points[s->n_points - 1].tsc > tsc)
		s->n_points--;
	if (s->n_points && s->points[s->n_points - 1].tsc > tsc)
		return 0; /* another processor's, a moment behind */
	if (s->n_points == MOST_POINTS) {
		for (size_t i = 0; i < MOST_POINTS / 2; i++)
			s->points[i] = s->points[2 * i];
		s->n_points = MOST_POINTS / 2;
	}
	struct point *points = tw_array_room(s->points, s->n_points, &s->points_room, sizeof *points);
	if (!points)
		return TW_ERR_MEMORY;
	s->points = points;
	points[s->n_points++] = (struct point){insn, tsc};
	s->clock = tsc;
	return 0;
}

/* When an instruction of the thread was about to run: the last of the points at it. */
static uint64_t time_of(const struct state *s, uint64_t insn)
{
	size_t low = 0, high = s->n_points;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (s->points[middle].insn <= insn)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return s->n_points ? s->points[0].tsc : 0;
	const struct point *before = &s->points[low - 1], *after = before + 1;
	if (low == s->n_points)
		return before->tsc;
	const double share = (double)(insn - before->insn) / (double)(after->insn - before->insn);
	return before->tsc + (uint64_t)(share * (double)(after->tsc - before->tsc));
}

/* ---- calls ---- */

static int open_call(struct state *s, const struct tw_context_frame *f, uint64_t insn)
{
	struct open_call *open = tw_array_room(s->open, s->n_open, &s->open_room, sizeof *open);
	if (!open)
		return TW_ERR_MEMORY;
	s->open = open;
	open[s->n_open++] = (struct open_call){
	    .begin = insn,
	    .clock = s->clock,
	    .slot = f->slot,
	    .back = f->back,
	    .node = f->node,
	    .block = s->cct->tree.nodes[f->node].entry,
	    .is_new = 1,
	};
	return 0;
}

/* The innermost call ends before this instruction. */
static int close_call(struct state *s, uint64_t insn)
{
	const struct open_call *o = &s->open[--s->n_open];
	const struct tw_timeline_longest own = {
	    .insns = insn - o->begin, .cycles = s->clock > o->clock ? s->clock - o->clock : 0, .begin = o->clock, .thread = s->thread};
	const struct tw_timeline_function one = {1, own.insns, own.cycles, own, own};
	const struct tw_timeline_call call = {
	    .begin = o->begin,
	    .end = insn,
	    .insns = own.insns,
	    .cycles = own.cycles,
	    .block = o->block,
	    .thread = s->thread,
	    .depth = (uint32_t)s->n_open,
	};
	if (add_function(&s->t, o->block, &one))
		return TW_ERR_MEMORY;
	if (weight(&call) <= s->too_light)
		return 0;
	if (thin_calls(&s->t, s->first_call))
		s->too_light = weight(&s->t.calls[s->t.n_calls - 1]);
	return add_call(&s->t, &call);
}

/* Is the call that of this frame? The lowest frame changes its function when that returns. */
static int is_same(const struct open_call *o, const struct tw_context_frame *f)
{
	return o->slot == f->slot && o->back == f->back && (f->slot != UINT64_MAX || o->node == f->node);
}

/* A PLT's stub has led to this block: there the function begins. */
static void pass_stub(struct state *s, uint32_t block, uint64_t insn)
{
	enum { STUB_INSNS = 3 };
	struct open_call *top = &s->open[s->n_open - 1];
	if (!top->is_new || top->begin == insn)
		return;
	top->is_new = s->cct->end == TW_END_IJUMP && s->n_insns <= STUB_INSNS;
	if (top->is_new)
		top->block = block;
}

static int moved(void *context, uint32_t block, uint64_t insn, uint16_t n_insns)
{
	struct state *s = context;
	const struct tw_cct_stack *stack = &s->cct->stack;
	size_t same = stack->n < s->n_open ? stack->n : s->n_open;
	int error = 0;
	while (same && !is_same(&s->open[same - 1], &stack->frames[same - 1]))
		same--;
	while (s->n_open > same && !error)
		error = close_call(s, insn);
	for (; same < stack->n && !error; same++)
		error = open_call(s, &stack->frames[same], insn);
	if (error)
		return error;
	pass_stub(s, block, insn);
	s->n_insns = n_insns;
	return 0;
}

static int take_event(void *context, const struct tw_event *e, uint64_t insn)
{
	struct state *s = context;
	const uint64_t tsc = tw_event_time(e->type, e->payload);
	int error = 0;
	if (e->type == TW_EVENT_SYSCALL) {
		const struct tw_syscall *call = e->payload;
		const struct tw_timeline_wait wait = {call->began, call->tsc, call->number, s->thread};
		error = add_point(s, insn, call->began);
		if (!error && call->tsc > call->began)
			error = add_wait(&s->t, &wait);
	}
	return error || !tsc ? error : add_point(s, insn, tsc);
}

/* ---- threads ---- */

/* The thread has ended: its open calls, too; and its calls get their times. */
static int settle(struct state *s)
{
	int error = 0;
	while (s->n_open && !error)
		error = close_call(s, s->cct->insn);
	for (size_t i = s->first_call; i < s->t.n_calls && !error; i++) {
		struct tw_timeline_call *c = &s->t.calls[i];
		c->begin = time_of(s, c->begin);
		c->end = time_of(s, c->end);
	}
	thin_calls(&s->t, 0);
	s->first_call = s->t.n_calls;
	s->too_light = 0;
	s->n_points = 0;
	s->clock = 0;
	return error;
}

/* ---- the analyzer ---- */

static void free_state(struct state *s)
{
	tw_cct_free(s->cct);
	free(s->t.functions);
	free(s->t.calls);
	free(s->t.waits);
	free(s->open);
	free(s->points);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->cct = tw_cct_new(arg);
	if (!s->cct) {
		free_state(s);
		return NULL;
	}
	s->observer = (struct tw_cct_observer){moved, take_event, s};
	s->cct->observer = &s->observer;
	s->t.context = arg;
	s->t.tree = &s->cct->tree;
	s->t.most = (size_t)tw_context_number(arg, "most");
	s->t.most += !s->t.most;
	s->thread = TW_CONTEXT_NONE;
	return s;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	int error = s->thread != b->thread ? settle(s) : 0;
	s->thread = b->thread;
	return error ? error : tw_cct_batch(s->cct, b);
}

/* The number of another state's block in this one. */
static uint32_t own_block(struct state *s, const struct state *from, uint32_t block)
{
	const struct tw_context_block *b = &from->t.tree->blocks[block];
	return tw_contexts_block(s->t.tree, b->program, b->thread, b->pc);
}

static int merge_calls(struct state *s, const struct state *from)
{
	int error = 0;
	for (size_t i = 0; i < from->t.n_calls && !error; i++) {
		struct tw_timeline_call call = from->t.calls[i];
		call.block = own_block(s, from, call.block);
		error = call.block == TW_CONTEXT_NONE ? TW_ERR_MEMORY : add_call(&s->t, &call);
	}
	for (size_t i = 0; i < from->t.n_waits && !error; i++)
		error = add_wait(&s->t, &from->t.waits[i]);
	thin_calls(&s->t, 0);
	s->first_call = s->t.n_calls;
	return error;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int error = settle(s);
	error = error ? error : settle(from);
	for (uint32_t i = 0; i < from->t.functions_room && !error; i++) {
		if (!from->t.functions[i].calls)
			continue;
		const uint32_t block = own_block(s, from, i);
		error = block == TW_CONTEXT_NONE ? TW_ERR_MEMORY : add_function(&s->t, block, &from->t.functions[i]);
	}
	error = error ? error : merge_calls(s, from);
	s->thread = TW_CONTEXT_NONE;
	free_state(from);
	return error;
}

static int end(void *state, int error)
{
	struct state *s = state;
	error = error ? error : settle(s);
	if (!error) {
		qsort(s->t.calls, s->t.n_calls, sizeof *s->t.calls, by_weight);
		s->t.n_calls = s->t.n_calls < s->t.most ? s->t.n_calls : s->t.most;
		forget_waits(&s->t, s->t.most);
		error = tw_timeline_print(&s->t);
	}
	free_state(s);
	return error;
}

static const struct tw_option options[] = {
    {"by", TW_OPTION_WORD, "insns|time", "insns",
     "order functions by how far the instructions, or the time, of their longest call stand out"},
    {"most", TW_OPTION_NUMBER, "N", "100000", "keep the N longest calls and system calls for --calls and --perfetto"},
    {"calls", TW_OPTION_FLAG, NULL, NULL, "list single calls in order of their start"},
    {"perfetto", TW_OPTION_FORM, NULL, NULL, "write calls and system calls as JSON for ui.perfetto.dev or chrome://tracing"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_timeline = {
    .name = "timeline",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "single calls: which one took longest, and when; traces for Perfetto",
    .help = "For each function: how many calls, how long they take, and the longest one. A\n"
            "call includes what it called, and the time that it waited. Instructions are\n"
            "exact. Times are those of the recorded run, which is slower than a native one;\n"
            "between system calls and other events that have a time they are interpolated.\n",
    .options = options,
    .needs = TW_NEEDS_FLOW | TW_WANTS_CALL_ADDRESSES,
    .scope = TW_SCOPE_THREADS,
};

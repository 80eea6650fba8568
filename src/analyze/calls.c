#include "analyze/calls.h"
#include "analyze/by_fragment.h"
#include "analyze/callstack.h"
#include "analyze/profile.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/* Levels of a context, and in place of a level: the code runs as a stub, which is charged to its caller. */
enum { N_LEVELS = 2, AS_STUB = 2 };

/* What executions counted that were not whole, or whose references differ from one to another. */
struct own {
	uint64_t ran, refs, reads, writes;
};

enum known { UNKNOWN, BY_JUMP, BY_CALL };

struct block {
	struct tw_call_place place;
	const struct fragment *fragment;
	uint64_t pc, last_pc; /* of its first and last instruction */
	uint64_t end_pc;      /* behind it */
	uint64_t target;
	uint16_t first_insn, n_insns;
	uint16_t reads, writes; /* of one execution, where they are always the same */
	uint16_t refs;
	uint8_t end;   /* enum tw_end */
	uint8_t known; /* enum known: where `place` comes from */
	uint8_t varies;
	uint64_t runs[N_LEVELS + 1]; /* whole executions that need no `own` */
	uint64_t ends[N_LEVELS + 1]; /* other executions that reached the end */
	uint64_t taken[N_LEVELS + 1];
};

struct fragment {
	const struct tw_descriptor *descriptor;
	uint32_t image;
	struct own *own[N_LEVELS + 1]; /* by instruction; NULL: none yet */
	struct block block[];
};

/* What a block counted while it was taken for part of another function. */
struct retired {
	struct block block;
	struct own *own[N_LEVELS]; /* of its own instructions; NULL: none */
};

/* Where a thread stood that made a process, for that process to go on from there. */
struct forked {
	uint32_t pid, tid;
	struct tw_callstack stack;
};

struct state {
	const struct tw_recording *recording;
	const struct tw_calls_options *options;
	struct tw_calls *out;
	struct tw_by_fragment fragments;
	struct tw_call_table table;
	struct tw_callstack stack;
	struct tw_arrival arrival;
	struct forked *forked;
	struct retired *retired;
	size_t n_forked, n_retired, n_insns;
	struct block *open;       /* its references go on in the next batch; NULL: none */
	uint32_t *images;         /* by thread, as in tw_recording_thread */
	uint32_t thread, started; /* the thread whose stack that is, if started */
	size_t thread_number;     /* the same as in tw_recording_thread */
};

/* ---- fragments ---- */

static int varies(const struct tw_op *op)
{
	return op->kind == TW_OP_REP || op->kind == TW_OP_LANES;
}

static void fill_block(struct block *b, const struct fragment *f, const struct tw_block *from)
{
	const struct tw_descriptor *d = f->descriptor;
	const struct tw_op *op = tw_descriptor_ops(d);
	const uint8_t *bytes = tw_descriptor_insn_bytes(d) + from->first_insn;
	*b = (struct block){
	    .fragment = f,
	    .pc = from->pc,
	    .end_pc = from->pc + from->bytes,
	    .last_pc = from->pc + from->bytes - bytes[from->n_insns - 1],
	    .target = from->target,
	    .first_insn = from->first_insn,
	    .n_insns = from->n_insns,
	    .end = from->end,
	};
	for (unsigned i = 0; i < d->n_ops; i++) {
		if (op[i].insn < from->first_insn || op[i].insn >= from->first_insn + from->n_insns || !tw_op_is_ref(&op[i]))
			continue;
		b->varies |= (uint8_t)varies(&op[i]);
		b->refs++;
		b->reads = (uint16_t)(b->reads + (op[i].type & TW_READ));
		b->writes = (uint16_t)(b->writes + (op[i].type >> 1));
	}
}

static struct fragment *new_fragment(struct state *s, const struct tw_descriptor *d)
{
	struct fragment *f = calloc(1, sizeof *f + d->n_blocks * sizeof f->block[0]);
	if (!f || !tw_by_fragment_set(&s->fragments, d->number, f)) {
		free(f);
		return NULL;
	}
	f->descriptor = d;
	f->image = s->images[s->thread_number];
	for (unsigned i = 0; i < d->n_blocks; i++)
		fill_block(&f->block[i], f, tw_descriptor_blocks(d) + i);
	s->n_insns += d->n_insns;
	return f;
}

static inline struct fragment *fragment_of(struct state *s, const struct tw_descriptor *d)
{
	struct fragment *f = tw_by_fragment_get(&s->fragments, d->number);
	return f ? f : new_fragment(s, d);
}

static void free_fragment(void *item)
{
	struct fragment *f = item;
	for (int level = 0; level <= N_LEVELS; level++)
		free(f->own[level]);
	free(f);
}

/* ---- where control goes ---- */

/* Takes the counts of block b out of the instructions of its fragment. NULL if there are none, or no memory (*error). */
static struct own *take_own(struct own *all, const struct block *b, int *error)
{
	if (!all)
		return NULL;
	struct own *own = malloc(b->n_insns * sizeof *own);
	if (!own) {
		*error = TW_ERR_MEMORY;
		return NULL;
	}
	memcpy(own, all + b->first_insn, b->n_insns * sizeof *own);
	memset(all + b->first_insn, 0, b->n_insns * sizeof *own);
	return own;
}

/* Block b turns out to be part of another function: what it has counted stays with the one it was in. */
static int retire(struct state *s, struct block *b)
{
	struct retired *retired = realloc(s->retired, (s->n_retired + 1) * sizeof *retired);
	int error = 0;
	if (!retired)
		return TW_ERR_MEMORY;
	s->retired = retired;
	struct retired *r = &retired[s->n_retired++];
	*r = (struct retired){.block = *b};
	for (int level = 0; level < N_LEVELS; level++)
		r->own[level] = take_own(b->fragment->own[level], b, &error);
	memset(b->runs, 0, sizeof b->runs);
	memset(b->ends, 0, sizeof b->ends);
	memset(b->taken, 0, sizeof b->taken);
	s->n_insns += b->n_insns;
	return error;
}

/* Asks for the function of a block, again where it turns out to be called. */
static int find_place(struct state *s, struct block *b, uint64_t pc)
{
	enum known now = s->arrival.cause == TW_ARRIVAL_CALL || !tw_callstack_is_settled(&s->stack) ? BY_CALL : BY_JUMP;
	if (b->known >= now || (b->known && b->place.entry))
		return 0;
	struct tw_call_place place = {0};
	int error = s->options->place(s->options->context, b->fragment->image, pc, now == BY_CALL, &place);
	if (!error && b->known && place.function != b->place.function)
		error = retire(s, b);
	b->known = now;
	b->place = place;
	return error;
}

/* Brings the stack up to date: block b begins. */
static int arrive(struct state *s, struct block *b, uint64_t pc)
{
	struct tw_arrival *a = &s->arrival;
	struct block *from = a->from;
	if (from && pc == from->target)
		from->taken[a->level]++;
	const struct tw_frame *top = tw_callstack_top(&s->stack);
	if (a->cause != TW_ARRIVAL_CALL && a->cause != TW_ARRIVAL_RETURN && top->context.function == b->place.function)
		return 0;
	struct tw_call_site site = {.in = {TW_CALL_NOWHERE, 0}};
	if (from)
		site = (struct tw_call_site){top->context, from->fragment->image, from->last_pc};
	return tw_callstack_enter(&s->stack, &b->place, b->fragment->image, pc, a, &site);
}

/* The first reference of that type that the last instruction of a block made; UINT64_MAX if there is none. */
static uint64_t slot_of(const struct block *b, const struct tw_ref *refs, size_t n, uint8_t type)
{
	unsigned last = b->first_insn + b->n_insns - 1u;
	for (size_t i = n; i-- > 0 && refs[i].insn == last;)
		if (refs[i].type == type)
			return refs[i].addr;
	return UINT64_MAX;
}

/* A block has come to its end: what that means for the stack and for the block that is next. */
static void depart(struct state *s, struct block *b, unsigned level, const struct tw_ref *refs, size_t n)
{
	uint64_t slot;
	s->arrival = (struct tw_arrival){.cause = TW_ARRIVAL_JUMP, .level = (uint8_t)level, .from = b};
	switch (b->end) {
	case TW_END_ICALL:
	case TW_END_CALL:
		s->arrival.cause = TW_ARRIVAL_CALL;
		s->arrival.slot = slot_of(b, refs, n, TW_WRITE);
		s->arrival.back = b->end_pc;
		break;
	case TW_END_IJUMP:
		s->arrival.cause = TW_ARRIVAL_WILD;
		break;
	case TW_END_RETURN:
		slot = slot_of(b, refs, n, TW_READ);
		s->arrival.cause = slot == UINT64_MAX ? TW_ARRIVAL_RETURN : TW_ARRIVAL_WILD;
		if (slot != UINT64_MAX)
			tw_callstack_return(&s->stack, slot);
		break;
	default:
		break;
	}
}

/* ---- counting ---- */

static int run_own(struct state *s, struct fragment *f, unsigned level, const struct tw_block_run *run, const struct tw_ref *refs, size_t n)
{
	const struct block *b = &f->block[run->block];
	if (!f->own[level])
		f->own[level] = calloc(f->descriptor->n_insns, sizeof *f->own[level]);
	struct own *own = f->own[level];
	if (!own)
		return TW_ERR_MEMORY;
	for (unsigned i = 0; i < run->n_insns; i++)
		own[b->first_insn + i].ran++;
	s->stack.cost.refs += n;
	for (size_t i = 0; i < n; i++) {
		own[refs[i].insn].refs++;
		own[refs[i].insn].reads += refs[i].type & TW_READ;
		own[refs[i].insn].writes += refs[i].type >> 1;
		s->stack.cost.reads += refs[i].type & TW_READ;
		s->stack.cost.writes += refs[i].type >> 1;
	}
	return 0;
}

static int is_indirect(const struct block *b)
{
	return b->end == TW_END_IJUMP || b->end == TW_END_ICALL;
}

static void count_end(struct state *s, const struct block *b, int whole)
{
	s->stack.cost.conditional += whole && b->end == TW_END_COND;
	s->stack.cost.indirect += whole && is_indirect(b);
}

/* After the last references of a block, if it is `whole` now or was when its first ones came. */
static void close_block(struct state *s, struct block *b, unsigned level, int whole, const struct tw_ref *refs, size_t n, int more)
{
	whole |= s->open == b;
	s->arrival = (struct tw_arrival){.cause = TW_ARRIVAL_JUMP};
	s->open = whole && more ? b : NULL;
	if (whole && !more)
		depart(s, b, level, refs, n);
}

/* A block runs, or makes more references. `more`: the next batch has more of them. */
static int run_block(struct state *s, const struct tw_block_run *run, const struct tw_ref *refs, size_t n, int more)
{
	struct fragment *f = fragment_of(s, run->descriptor);
	if (!f)
		return TW_ERR_MEMORY;
	struct block *b = &f->block[run->block];
	int error = find_place(s, b, run->pc);
	if (!error)
		error = arrive(s, b, run->pc);
	if (error)
		return error;
	const struct tw_frame *top = tw_callstack_top(&s->stack);
	int stub = top->kind == TW_CALL_STUB && top->call != TW_CALL_NOWHERE;
	unsigned level = stub ? AS_STUB : top->context.level;
	int whole = run->n_insns == b->n_insns;
	struct tw_cost before = s->stack.cost;
	s->stack.cost.insns += run->n_insns;
	if (whole && n == b->refs && !b->varies) {
		s->stack.cost.refs += b->refs;
		s->stack.cost.reads += b->reads;
		s->stack.cost.writes += b->writes;
		b->runs[level]++;
	} else {
		error = run_own(s, f, level, run, refs, n);
		b->ends[level] += (uint64_t)whole;
	}
	count_end(s, b, whole);
	if (stub)
		tw_callstack_charge(&s->stack, &before);
	close_block(s, b, level, whole, refs, n, more);
	return error;
}

/* ---- events ---- */

static int note_fork(struct state *s, const struct tw_fork *e)
{
	const uint64_t clone_thread = 0x10000;
	if (e->flags & clone_thread)
		return 0;
	struct forked *forked = realloc(s->forked, (s->n_forked + 1) * sizeof *forked);
	if (!forked)
		return TW_ERR_MEMORY;
	s->forked = forked;
	struct forked *child = &forked[s->n_forked++];
	*child = (struct forked){.pid = e->child_pid, .tid = e->child_tid};
	tw_callstack_init(&child->stack, &s->table);
	return tw_callstack_begin(&child->stack, &s->stack);
}

/* The stack pointer, where it is told: frames below it are gone, whatever was not recorded. */
static void take_keyframe(struct state *s, const struct tw_keyframe *k)
{
	if (k->regs[TW_RSP])
		tw_callstack_return(&s->stack, k->regs[TW_RSP] - 1);
}

static int take_event(struct state *s, const struct tw_event *e)
{
	switch (e->type) {
	case TW_EVENT_SIGNAL: {
		struct tw_arrival interrupted = s->arrival;
		s->arrival = (struct tw_arrival){.cause = TW_ARRIVAL_JUMP};
		return tw_callstack_signal(&s->stack, &interrupted);
	}
	case TW_EVENT_SIGRETURN:
		s->arrival = (struct tw_arrival){.cause = TW_ARRIVAL_JUMP};
		tw_callstack_sigreturn(&s->stack, &s->arrival);
		return 0;
	case TW_EVENT_GAP:
		s->arrival = (struct tw_arrival){.cause = TW_ARRIVAL_WILD};
		return 0;
	case TW_EVENT_KEYFRAME:
		take_keyframe(s, e->payload);
		return 0;
	case TW_EVENT_FORK:
		return note_fork(s, e->payload);
	default:
		return 0;
	}
}

/* ---- threads ---- */

static void finish_thread(struct state *s)
{
	if (s->started)
		tw_callstack_finish(&s->stack);
	s->started = 0;
}

/* The start of the thread, in its first batch; NULL if it is not told. */
static const struct tw_thread_start *find_start(const struct tw_batch *b)
{
	for (size_t i = 0; i < b->n_events; i++)
		if (b->events[i].type == TW_EVENT_THREAD_START)
			return b->events[i].payload;
	return NULL;
}

/* The process that a first batch is of, if it was forked. */
static struct forked *find_forked(struct state *s, const struct tw_batch *b)
{
	const struct tw_thread_start *start = find_start(b);
	for (size_t i = s->n_forked; start && i-- > 0;)
		if (s->forked[i].pid == start->pid && s->forked[i].tid == start->tid)
			return &s->forked[i];
	return NULL;
}

static int start_thread(struct state *s, const struct tw_batch *b)
{
	finish_thread(s);
	struct forked *forked = find_forked(s, b);
	int error = tw_callstack_begin(&s->stack, forked ? &forked->stack : NULL);
	if (forked) {
		tw_callstack_free(&forked->stack);
		*forked = s->forked[--s->n_forked];
	}
	s->started = 1;
	s->thread = b->thread;
	s->thread_number = tw_recording_find_thread(s->recording, b->thread);
	s->open = NULL;
	s->arrival = (struct tw_arrival){.cause = TW_ARRIVAL_JUMP};
	return error;
}

/* ---- the analyzer ---- */

static void free_state(struct state *s)
{
	tw_by_fragment_free(&s->fragments, free_fragment);
	for (size_t i = 0; i < s->n_forked; i++)
		tw_callstack_free(&s->forked[i].stack);
	for (size_t i = 0; i < s->n_retired; i++)
		for (int level = 0; level < N_LEVELS; level++)
			free(s->retired[i].own[level]);
	free(s->retired);
	free(s->forked);
	free(s->images);
	tw_callstack_free(&s->stack);
	tw_call_table_free(&s->table);
	free(s);
}

struct arg {
	const struct tw_recording *recording;
	const struct tw_calls_options *options;
	struct tw_calls *out;
};

static int find_images(struct state *s)
{
	size_t n = tw_recording_n_threads(s->recording);
	s->images = calloc(n + 1, sizeof *s->images);
	int ok = s->images != NULL;
	for (size_t i = 0; ok && i < n; i++) {
		s->images[i] = tw_profile_image_of_thread(s->recording, i);
		ok = s->images[i] != TW_NO_INDEX;
	}
	return ok;
}

static void *begin(void *arg)
{
	const struct arg *a = arg;
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->recording = a->recording;
	s->options = a->options;
	s->out = a->out;
	tw_callstack_init(&s->stack, &s->table);
	if (find_images(s))
		return s;
	free_state(s);
	return NULL;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	size_t event = 0;
	int error = !s->started || s->thread != b->thread ? start_thread(s, b) : 0;
	const struct tw_block_run *blocks = tw_batch_blocks(b);
	const struct tw_ref *refs = tw_batch_refs(b);
	for (size_t i = 0; i < b->n_blocks && !error; i++) {
		while (!error && event < b->n_events && b->events[event].block <= i)
			error = take_event(s, &b->events[event++]);
		const struct tw_block_run *run = &blocks[i];
		size_t end = i + 1 < b->n_blocks ? run[1].first_ref : b->n_refs;
		int more = b->continues && i + 1 == b->n_blocks;
		if (!error)
			error = run_block(s, run, refs + run->first_ref, end - run->first_ref, more);
	}
	while (!error && event < b->n_events)
		error = take_event(s, &b->events[event++]);
	return error;
}

/* There is one state for everything: calls are followed in order. */
static int merge(void *state, void *later)
{
	(void)state;
	free_state(later);
	return TW_ERR_RANGE;
}

/* ---- the result ---- */

/* The instructions of a block in one context. `own`: what they counted each, NULL: nothing. */
static void add_insns(struct tw_calls *out, const struct block *b, const struct own *own, unsigned level)
{
	const uint8_t *bytes = tw_descriptor_insn_bytes(b->fragment->descriptor) + b->first_insn;
	uint64_t pc = b->pc;
	for (unsigned i = 0; i < b->n_insns; pc += bytes[i++]) {
		struct own more = own ? own[i] : (struct own){0};
		if (!b->runs[level] && !more.ran && !more.reads && !more.writes)
			continue;
		struct tw_call_insn *insn = &out->insns[out->n_insns++];
		*insn = (struct tw_call_insn){
		    .in = {b->place.function, level},
		    .image = b->fragment->image,
		    .end = TW_END_FALL,
		    .pc = pc,
		    .cost = {.insns = b->runs[level] + more.ran, .refs = more.refs, .reads = more.reads, .writes = more.writes},
		    .ran = b->runs[level] + more.ran,
		};
	}
}

/* The items that add_insns has made of block b: the references of its whole executions, and what its last instruction does. */
static void add_rest(struct tw_call_insn *insns, size_t n, const struct block *b, unsigned level)
{
	const struct tw_descriptor *d = b->fragment->descriptor;
	const struct tw_op *op = tw_descriptor_ops(d);
	uint64_t runs = b->runs[level], ends = runs + b->ends[level];
	for (unsigned i = 0; runs && i < d->n_ops; i++) {
		unsigned insn = op[i].insn - (unsigned)b->first_insn;
		if (insn >= n || !tw_op_is_ref(&op[i]))
			continue;
		insns[insn].cost.refs += runs;
		insns[insn].cost.reads += runs * (op[i].type & TW_READ);
		insns[insn].cost.writes += runs * (op[i].type >> 1);
	}
	if (!ends)
		return;
	struct tw_call_insn *last = &insns[n - 1];
	last->end = b->end;
	last->target = b->target;
	last->taken = b->taken[level];
	last->cost.conditional = b->end == TW_END_COND ? ends : 0;
	last->cost.indirect = is_indirect(b) ? ends : 0;
}

static void take_block(struct tw_calls *out, const struct block *b, const struct own *own, unsigned level)
{
	size_t first = out->n_insns;
	add_insns(out, b, own, level);
	add_rest(out->insns + first, out->n_insns - first, b, level);
}

static int take_fragment(void *out, void *item)
{
	const struct fragment *f = item;
	for (unsigned k = 0; k < f->descriptor->n_blocks; k++)
		for (unsigned level = 0; level < N_LEVELS; level++)
			take_block(out, &f->block[k], f->own[level] ? f->own[level] + f->block[k].first_insn : NULL, level);
	return 0;
}

static void take_retired(struct tw_calls *out, const struct retired *r)
{
	for (unsigned level = 0; level < N_LEVELS; level++)
		take_block(out, &r->block, r->own[level], level);
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_context(struct tw_context a, struct tw_context b)
{
	return a.function != b.function ? order(a.function, b.function) : order(a.level, b.level);
}

static int by_insn(const void *a, const void *b)
{
	const struct tw_call_insn *x = a, *y = b;
	int o = by_context(x->in, y->in);
	if (!o)
		o = order(x->image, y->image);
	return o ? o : order(x->pc, y->pc);
}

static int by_call(const void *a, const void *b)
{
	const struct tw_call *x = a, *y = b;
	int o = by_context(x->in, y->in);
	if (!o)
		o = order(x->image, y->image);
	if (!o)
		o = order(x->pc, y->pc);
	return o ? o : by_context(x->to, y->to);
}

static void join_insn(struct tw_call_insn *to, const struct tw_call_insn *more)
{
	tw_cost_add(&to->cost, &more->cost);
	to->ran += more->ran;
	to->taken += more->taken;
	if (to->end == TW_END_FALL) {
		to->end = more->end;
		to->target = more->target;
	}
}

/* Makes one of items for the same instruction in the same context: they came from different fragments. */
static void join_insns(struct tw_calls *out)
{
	size_t n = 0;
	qsort(out->insns, out->n_insns, sizeof *out->insns, by_insn);
	for (size_t i = 0; i < out->n_insns; i++) {
		if (n && !by_insn(&out->insns[n - 1], &out->insns[i]))
			join_insn(&out->insns[n - 1], &out->insns[i]);
		else
			out->insns[n++] = out->insns[i];
	}
	out->n_insns = n;
}

/* Splits the table into calls and what is charged to the instructions that called. */
static void take_table(struct tw_calls *out, const struct tw_call_table *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		const struct tw_call *c = &t->items[i];
		if (c->to.function != TW_CALL_NOWHERE)
			out->calls[out->n_calls++] = *c;
		else
			out->insns[out->n_insns++] =
			    (struct tw_call_insn){.in = c->in, .image = c->image, .pc = c->pc, .end = TW_END_FALL, .cost = c->cost};
	}
}

static int take_all(struct state *s)
{
	struct tw_calls *out = s->out;
	out->insns = malloc((N_LEVELS * s->n_insns + s->table.n + 1) * sizeof *out->insns);
	out->calls = malloc((s->table.n + 1) * sizeof *out->calls);
	if (!out->insns || !out->calls)
		return TW_ERR_MEMORY;
	tw_by_fragment_each(&s->fragments, take_fragment, out);
	for (size_t i = 0; i < s->n_retired; i++)
		take_retired(out, &s->retired[i]);
	take_table(out, &s->table);
	join_insns(out);
	if (out->n_calls)
		qsort(out->calls, out->n_calls, sizeof *out->calls, by_call);
	for (size_t i = 0; i < out->n_insns; i++)
		tw_cost_add(&out->totals, &out->insns[i].cost);
	return 0;
}

static int end(void *state, int error)
{
	struct state *s = state;
	finish_thread(s);
	if (!error)
		error = take_all(s);
	if (error)
		tw_calls_free(s->out);
	free_state(s);
	return error;
}

int tw_calls_run(const struct tw_recording *r, const struct tw_calls_options *options, struct tw_calls *out)
{
	static const struct tw_analyzer calls = {.name = "calls", .begin = begin, .batch = batch, .merge = merge, .end = end};
	struct tw_replay_options replay = options->replay;
	struct arg arg = {r, options, out};
	memset(out, 0, sizeof *out);
	replay.jobs = 1;
	replay.grain = 0;
	return options->run ? options->run(options->run_context, r, &replay, &calls, &arg) : tw_replay(r, &replay, &calls, &arg);
}

void tw_calls_free(struct tw_calls *calls)
{
	free(calls->insns);
	free(calls->calls);
	memset(calls, 0, sizeof *calls);
}

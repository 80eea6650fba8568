/*
 * Calls are followed in order, but replay is parallel: workers replay chunks, each into a log (calls_log.h), and the
 * logs are followed one after another when states are merged. Following is the only serial work, so it is done by
 * piece (calls_count.h), not by block.
 */
#include "analyze/calls.h"
#include "analyze/calls_code.h"
#include "analyze/profile.h"
#include "recording/recording.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/*
 * With more workers than MOST_JOBS, logs would take memory and wait to be followed. A log that need not wait is
 * followed once it has LOG_AT_ONCE numbers.
 */
enum { MOST_JOBS = 4, LOG_AT_ONCE = 16384 };

/* The stack of a thread that created a process, which continues from there. */
struct forked {
	uint32_t pid, tid;
	struct tw_callstack stack;
};

/* Types: cost since it was last added to the stack's; and what is added to that. */
typedef uint32_t wide_cost __attribute__((vector_size(32)));
typedef uint64_t whole_cost __attribute__((vector_size(64)));

struct follower {
	const struct tw_recording *recording;
	struct tw_calls_code code;
	struct tw_call_table table;
	struct tw_callstack stack;
	wide_cost cost;
	uint32_t n_costs;         /* in it */
	uint64_t followed;        /* numbers of logs, since pieces were settled */
	uint32_t function, level; /* on top of the stack; NOTHING: any code may mean another function there. AS_STUB */
	/*
	 * The last piece, while the meaning of its end is open, with the slot of its call or return; afterwards, how the
	 * next piece is reached.
	 */
	struct tw_piece_of_code *last;
	uint64_t slot;
	struct tw_arrival arrival;
	/* The piece to which further references belong, and its level; NULL: none. */
	struct tw_piece_of_code *newest;
	uint32_t newest_level;
	struct forked *forked;
	size_t n_forked;
	uint32_t *images; /* by thread, as in tw_recording_thread */
	uint32_t thread;  /* whose stack that is, */
	int started;      /* if it has begun */
};

/* ---- cost ---- */

static inline void add_cost(struct follower *f, tw_small_cost cost)
{
	f->cost += __builtin_convertvector(cost, wide_cost);
}

static void add_whole(struct follower *f, const whole_cost *cost)
{
	struct tw_cost *to = &f->stack.cost;
	to->insns += (*cost)[0];
	to->refs += (*cost)[1];
	to->reads += (*cost)[2];
	to->writes += (*cost)[3];
	to->conditional += (*cost)[4];
	to->indirect += (*cost)[5];
}

/* Adds what has been summed up to the stack's cost. */
static void settle_cost(struct follower *f)
{
	const whole_cost cost = __builtin_convertvector(f->cost, whole_cost);
	add_whole(f, &cost);
	f->cost = (wide_cost){0};
	f->n_costs = 0;
}

/* ---- where control goes ---- */

/* After the stack has changed. */
static void look_at_top(struct follower *f)
{
	const struct tw_frame *top = tw_callstack_top(&f->stack);
	const int stub = top->kind == TW_CALL_STUB && top->call != TW_CALL_NOWHERE;
	f->level = stub ? TW_CALLS_AS_STUB : top->context.level;
	f->function = stub || !tw_callstack_is_settled(&f->stack) ? TW_CALLS_NOTHING : top->context.function;
}

/* Applies the end of the last piece to the stack, and sets how the next one is reached. */
static void settle_end(struct follower *f)
{
	struct tw_piece_of_code *p = f->last;
	if (!p)
		return;
	f->last = NULL;
	f->arrival.cause = TW_ARRIVAL_JUMP;
	f->arrival.level = (uint8_t)f->level;
	f->arrival.from = p;
	if (p->plain)
		return;
	settle_cost(f);
	if (tw_ends_with_call(p->end)) {
		f->arrival.cause = TW_ARRIVAL_CALL;
		f->arrival.slot = f->slot;
		f->arrival.back = p->end_pc;
	} else if (p->end == TW_END_RETURN) {
		f->arrival.cause = f->slot == TW_NO_SLOT ? TW_ARRIVAL_RETURN : TW_ARRIVAL_BACK;
		if (f->slot != TW_NO_SLOT) {
			tw_callstack_return(&f->stack, f->slot);
			look_at_top(f);
		}
	} else {
		f->arrival.cause = TW_ARRIVAL_WILD;
	}
}

/* The next piece is reached in no way that says anything. */
static void arrive_from_nowhere(struct follower *f, uint8_t cause)
{
	settle_end(f);
	f->arrival = (struct tw_arrival){.cause = cause};
}

/*
 * The code at pc runs next. If that is a call's return address, the callee was not recorded, and the call does not
 * count. In a recording of parts of a process, the same holds for a jump: it led to a function that was not recorded
 * and has returned.
 */
static void come_back(struct follower *f, uint64_t pc)
{
	struct tw_arrival *a = &f->arrival;
	const struct tw_piece_of_code *from = a->from;
	if (a->cause == TW_ARRIVAL_CALL && a->back == pc)
		a->cause = TW_ARRIVAL_JUMP;
	else if (f->stack.in_parts && a->cause == TW_ARRIVAL_JUMP && from && from->end == TW_END_JUMP && from->target != pc)
		a->cause = TW_ARRIVAL_RETURN;
}

/*
 * In a recording of parts of a process: code within a function that runs although the last recorded piece was a call
 * of something else, as where an exception is caught.
 */
static void see_through_call(struct follower *f, const struct tw_piece_of_code *p)
{
	const struct tw_piece_of_code *from = f->arrival.from;
	if (f->stack.in_parts && f->arrival.cause == TW_ARRIVAL_CALL && !p->entry && from &&
	    (from->end != TW_END_CALL || from->target != p->pc))
		f->arrival.cause = TW_ARRIVAL_WILD;
}

static int is_called(const struct follower *f)
{
	return f->arrival.cause == TW_ARRIVAL_CALL || !tw_callstack_is_settled(&f->stack);
}

static int enter(struct follower *f, struct tw_piece_of_code *p)
{
	const struct tw_call_place place = {p->function, p->kind, p->lazy, p->entry};
	struct tw_piece_of_code *from = f->arrival.from;
	struct tw_call_site site = {.in = {TW_CALL_NOWHERE, 0}};
	settle_cost(f);
	if (from) {
		const struct tw_context in = tw_callstack_top(&f->stack)->context;
		site = (struct tw_call_site){in, from->image, from->last_pc, &from->call[in.level]};
	}
	int error = tw_callstack_enter(&f->stack, &place, p->image, p->pc, &f->arrival, &site);
	look_at_top(f);
	return error;
}

/* Brings the stack up to date: the piece begins. */
static int arrive(struct follower *f, struct tw_piece_of_code *p)
{
	settle_end(f);
	const struct tw_arrival *a = &f->arrival;
	struct tw_piece_of_code *from = a->from;
	if (from && p->pc == from->target)
		tw_piece_taken(from, a->level);
	come_back(f, p->pc);
	int error = tw_calls_place(&f->code, p, is_called(f));
	see_through_call(f, p);
	if (!error && (a->cause == TW_ARRIVAL_CALL || a->cause == TW_ARRIVAL_RETURN || f->function != p->function))
		error = enter(f, p);
	f->arrival = (struct tw_arrival){.cause = TW_ARRIVAL_JUMP};
	return error;
}

/* ---- pieces of stretches ---- */

static inline void count_piece(struct follower *f, struct tw_piece_of_code *p, const uint64_t **words)
{
	tw_piece_ran(p, f->level);
	add_cost(f, p->cost);
	f->last = f->newest = p;
	f->newest_level = f->level;
	f->slot = p->has_slot ? *(*words)++ : TW_NO_SLOT;
}

static int charge_stub(struct follower *f, const struct tw_cost *before)
{
	settle_cost(f);
	tw_callstack_charge(&f->stack, before);
	return 0;
}

/* References of an instruction give the slot of a call or return, if it is the last instruction of its piece. */
static void take_slots(struct follower *f, unsigned insn, uint64_t read, uint64_t written)
{
	if (f->last && f->last == f->newest && f->last->last_insn == insn) {
		const uint64_t slot = tw_ends_with_call(f->last->end) ? written : f->last->end == TW_END_RETURN ? read : TW_NO_SLOT;
		f->slot = slot == TW_NO_SLOT ? f->slot : slot;
	}
}

static int run_lead(struct follower *f, struct tw_piece_of_code *p, const uint64_t **words)
{
	const struct tw_piece_of_code *of = f->newest;
	int error = 0;
	take_slots(f, p->last_insn, (*words)[0], (*words)[1]);
	*words += 2;
	if (of && of->function != p->owner) {
		error = tw_calls_retire(&f->code, p, of->function);
	}
	settle_cost(f);
	const struct tw_cost before = f->stack.cost;
	tw_piece_ran(p, f->newest_level);
	add_cost(f, p->cost);
	return !error && f->level == TW_CALLS_AS_STUB ? charge_stub(f, &before) : error;
}

static int run_piece(struct follower *f, struct tw_piece_of_code *p, const uint64_t **words)
{
	if (p->lead)
		return run_lead(f, p, words);
	int error = arrive(f, p);
	if (error || f->level != TW_CALLS_AS_STUB) {
		count_piece(f, p, words);
		return error;
	}
	settle_cost(f);
	const struct tw_cost before = f->stack.cost;
	count_piece(f, p, words);
	return charge_stub(f, &before);
}

/* ---- blocks of fragments ---- */

/* Counts references; returns the words behind them. */
static const uint64_t *count_refs(struct follower *f, struct tw_own *own, const uint64_t *words)
{
	for (uint64_t n = *words++; n; n--, words += TW_LOG_COUNT_WORDS) {
		struct tw_log_count c;
		memcpy(&c, words, sizeof c);
		own[c.insn].refs += c.refs;
		own[c.insn].reads += c.reads;
		own[c.insn].writes += c.writes;
		f->stack.cost.refs += c.refs;
		f->stack.cost.reads += c.reads;
		f->stack.cost.writes += c.writes;
	}
	return words;
}

/* Further references of the newest piece. */
static int run_refs(struct follower *f, const uint64_t **words, unsigned insn)
{
	if (!f->newest)
		return tw_fail(TW_ERR_DAMAGED, "references without a block");
	struct tw_own *own = tw_calls_own(&f->code, f->newest->descriptor, f->newest_level);
	if (!own)
		return TW_ERR_MEMORY;
	settle_cost(f);
	const struct tw_cost before = f->stack.cost;
	struct tw_called_block *block = &tw_calls_fragment(&f->code, f->newest->descriptor)->block[f->newest->last_block];
	if (!block->piece.known)
		block->piece.function = f->newest->lead ? f->newest->owner : f->newest->function;
	*words = count_refs(f, own, *words);
	take_slots(f, insn == UINT32_MAX ? (unsigned)(*words)[2] : insn, (*words)[0], (*words)[1]);
	*words += insn == UINT32_MAX ? 3 : 2;
	if (f->level == TW_CALLS_AS_STUB)
		tw_callstack_charge(&f->stack, &before);
	return 0;
}

static int run_block(struct follower *f, const uint64_t **words)
{
	const struct tw_descriptor *d = (const struct tw_descriptor *)(uintptr_t)(*words)[0];
	const unsigned number = (unsigned)(*words)[1], n_insns = (unsigned)(*words)[2];
	const struct tw_block *b = tw_descriptor_blocks(d) + number;
	const int whole = n_insns == b->n_insns;
	*words += 3;
	if (!n_insns && f->newest && f->newest->descriptor == d && f->newest->last_block == number)
		return run_refs(f, words, b->first_insn + b->n_insns - 1u);
	struct tw_called_fragment *of = tw_calls_fragment(&f->code, d);
	if (!of)
		return TW_ERR_MEMORY;
	struct tw_piece_of_code *p = &of->block[number].piece;
	int error = arrive(f, p);
	struct tw_own *own = error ? NULL : tw_calls_own(&f->code, d, f->level);
	if (!own)
		return error ? error : TW_ERR_MEMORY;
	settle_cost(f);
	const struct tw_cost before = f->stack.cost;
	for (unsigned i = 0; i < n_insns; i++)
		own[b->first_insn + i].ran++;
	*words = count_refs(f, own, *words);
	f->stack.cost.insns += n_insns;
	f->stack.cost.conditional += whole && b->end == TW_END_COND;
	f->stack.cost.indirect += whole && (b->end == TW_END_IJUMP || b->end == TW_END_ICALL);
	of->block[number].ends[f->level] += (uint64_t)whole;
	f->last = whole ? p : NULL;
	f->newest = p;
	f->newest_level = f->level;
	f->slot = TW_NO_SLOT;
	take_slots(f, p->last_insn, (*words)[0], (*words)[1]);
	*words += 2;
	if (f->level == TW_CALLS_AS_STUB)
		tw_callstack_charge(&f->stack, &before);
	return 0;
}

/* ---- events ---- */

static int note_fork(struct follower *f, uint32_t pid, uint32_t tid)
{
	struct forked *forked = realloc(f->forked, (f->n_forked + 1) * sizeof *forked);
	if (!forked)
		return TW_ERR_MEMORY;
	f->forked = forked;
	struct forked *child = &forked[f->n_forked++];
	*child = (struct forked){.pid = pid, .tid = tid};
	tw_callstack_init(&child->stack, &f->table);
	return tw_callstack_begin(&child->stack, &f->stack);
}

static int take_signal(struct follower *f)
{
	struct tw_arrival interrupted = f->arrival;
	f->arrival = (struct tw_arrival){.cause = TW_ARRIVAL_JUMP};
	return tw_callstack_signal(&f->stack, &interrupted);
}

/* ---- threads ---- */

static void finish_thread(struct follower *f)
{
	settle_end(f);
	settle_cost(f);
	if (f->started)
		tw_callstack_finish(&f->stack);
	f->started = 0;
}

/* The process that begins, if it was forked. */
static struct forked *find_forked(struct follower *f, const uint64_t *words)
{
	for (size_t i = f->n_forked; words[1] && i-- > 0;)
		if (f->forked[i].pid == words[2] && f->forked[i].tid == words[3])
			return &f->forked[i];
	return NULL;
}

static int start_thread(struct follower *f, const uint64_t *words)
{
	const uint32_t thread = (uint32_t)words[0];
	if (f->started && f->thread == thread)
		return 0;
	finish_thread(f);
	struct forked *forked = find_forked(f, words);
	int error = tw_callstack_begin(&f->stack, forked ? &forked->stack : NULL);
	if (forked) {
		tw_callstack_free(&forked->stack);
		*forked = f->forked[--f->n_forked];
	}
	f->started = 1;
	f->thread = thread;
	f->code.image = f->images[tw_recording_find_thread(f->recording, thread)];
	f->last = f->newest = NULL;
	f->arrival = (struct tw_arrival){.cause = TW_ARRIVAL_JUMP};
	return error;
}

/* ---- following ---- */

static int take_event(struct follower *f, enum tw_log_mark mark, const uint64_t **words)
{
	const uint64_t *w = *words;
	int error = 0;
	settle_end(f);
	settle_cost(f);
	switch (mark) {
	case TW_LOG_SIGNAL:
		error = take_signal(f);
		break;
	case TW_LOG_SIGRETURN:
		f->arrival = (struct tw_arrival){.cause = TW_ARRIVAL_JUMP};
		tw_callstack_sigreturn(&f->stack, &f->arrival);
		break;
	case TW_LOG_GAP:
		arrive_from_nowhere(f, TW_ARRIVAL_WILD);
		break;
	case TW_LOG_BREAK: /* the caller of the code that runs next becomes known when that code returns */
		arrive_from_nowhere(f, TW_ARRIVAL_JUMP);
		tw_callstack_finish(&f->stack);
		error = tw_callstack_begin(&f->stack, NULL);
		break;
	case TW_LOG_STACK: /* frames below it are gone, whatever was not recorded */
		if (*w)
			tw_callstack_return(&f->stack, *w - 1);
		*words += 1;
		break;
	default:
		error = note_fork(f, (uint32_t)w[0], (uint32_t)w[1]);
		*words += 2;
	}
	look_at_top(f);
	return error;
}

/* The address of the first block of a stretch; 0: it has none. */
static uint64_t first_pc(const struct follower *f, uint32_t number)
{
	const struct tw_stretch *s = tw_shapes_get(f->code.shapes, number)->stretch;
	return s->n_blocks ? tw_descriptor_blocks(s->blocks[0].descriptor)[s->blocks[0].block].pc : 0;
}

/* A stretch has run. */
static int take_stretch(struct follower *f, uint32_t number, const uint64_t **words)
{
	struct tw_piece_of_code *p = tw_calls_piece(&f->code, number);
	int error = p ? 0 : TW_ERR_MEMORY;
	if (p && !p->made) {
		settle_end(f);
		come_back(f, first_pc(f, number));
		error = tw_calls_divide(&f->code, p, number, is_called(f), f->newest);
	}
	for (; p && !error; p = p->has_next ? p->next : NULL) {
		if (f->last && f->last->plain && p->function == f->function) {
			if (p->pc == f->last->target)
				tw_piece_taken(f->last, f->level);
			count_piece(f, p, words);
		} else {
			error = run_piece(f, p, words);
		}
	}
	if (++f->n_costs == UINT16_MAX)
		settle_cost(f);
	return error;
}

/* The last piece runs so many more times, and stays in its function: the stack does not change. */
static void count_again(struct follower *f, struct tw_piece_of_code *p, uint64_t times)
{
	const whole_cost cost = __builtin_convertvector(p->cost, whole_cost) * times;
	settle_cost(f);
	p->runs[f->level] += times;
	p->taken[f->level] += p->pc == p->target ? times : 0;
	add_whole(f, &cost);
}

/* A stretch has run many times in a row. */
static int take_again(struct follower *f, const uint64_t **words)
{
	const uint32_t number = (uint32_t)(*words)[0];
	uint64_t times = (*words)[1];
	*words += 2;
	int error = times ? take_stretch(f, number, words) : 0;
	struct tw_piece_of_code *p = f->last;
	if (!error && times && p && p == tw_calls_piece(&f->code, number) && !p->has_next && p->plain && p->function == f->function) {
		count_again(f, p, times - 1);
		return 0;
	}
	while (!error && times-- > 1)
		error = take_stretch(f, number, words);
	return error;
}

static int take_mark(struct follower *f, enum tw_log_mark mark, const uint64_t **words)
{
	int error;
	switch (mark) {
	case TW_LOG_THREAD:
		error = start_thread(f, *words);
		*words += 4;
		look_at_top(f);
		return error;
	case TW_LOG_BLOCK:
		return run_block(f, words);
	case TW_LOG_REFS:
		return run_refs(f, words, UINT32_MAX);
	case TW_LOG_AGAIN:
		return take_again(f, words);
	default:
		return take_event(f, mark, words);
	}
}

/* Where a stretch is counted; NULL: not known yet. */
static inline struct tw_piece_of_code *piece_of(const struct tw_counted *c, uint32_t number)
{
	struct tw_piece_of_code *row = number / TW_PIECES_ROW < c->n_rows ? c->rows[number / TW_PIECES_ROW] : NULL;
	return row ? &row[number % TW_PIECES_ROW] : NULL;
}

enum { AHEAD = 16 };

/*
 * Follows stretches from number i on that are one piece each, in the function on top of the stack, until one ends
 * with something else. Returns the next number.
 */
static size_t follow_plain(struct follower *f, const struct tw_log_part *part, size_t i, const uint64_t **at)
{
	const struct tw_counted *counted = &f->code.counted;
	const uint32_t function = f->function, level = f->level;
	const size_t most = UINT16_MAX - f->n_costs, n = part->n_numbers - i < most ? part->n_numbers : i + most;
	const uint64_t *words = *at;
	const size_t first = i;
	struct tw_piece_of_code *last = f->last;
	wide_cost cost = f->cost;
	uint64_t slot = f->slot;
	if (!last || !last->plain)
		return i;
	while (i < n && last->plain) {
		struct tw_piece_of_code *p = piece_of(counted, part->numbers[i]);
		if (i + AHEAD < part->n_numbers) /* inline here: gcc omits calls of functions that do nothing else */
			__builtin_prefetch(piece_of(counted, part->numbers[i + AHEAD]), 1);
		if (!p || !p->made || p->has_next || p->function != function)
			break;
		last->newly_taken[level] += p->pc == last->target;
		p->newly_run[level]++;
		cost += __builtin_convertvector(p->cost, wide_cost);
		slot = p->has_slot ? *words++ : TW_NO_SLOT;
		last = p;
		i++;
	}
	if (i > first) {
		f->last = f->newest = last;
		f->newest_level = level;
		f->slot = slot;
		f->cost = cost;
		f->n_costs += (uint32_t)(i - first);
		*at = words;
		if (f->n_costs == UINT16_MAX)
			settle_cost(f);
	}
	return i;
}

static int follow_part(struct follower *f, const struct tw_log_part *part)
{
	const uint64_t *words = part->words;
	int error = 0;
	for (size_t i = 0; i < part->n_numbers && !error; i++) {
		i = follow_plain(f, part, i, &words);
		if (i == part->n_numbers)
			break;
		const uint32_t number = part->numbers[i];
		if (i + AHEAD < part->n_numbers)
			__builtin_prefetch(piece_of(&f->code.counted, part->numbers[i + AHEAD]), 1);
		error =
		    number == TW_LOG_MARK ? take_mark(f, (enum tw_log_mark)part->numbers[++i], &words) : take_stretch(f, number, &words);
	}
	f->followed += part->n_numbers;
	if (f->followed > UINT32_MAX / 2) {
		tw_counted_settle(&f->code.counted);
		f->followed = 0;
	}
	return error;
}

/* Follows a log, which is empty then. */
static int follow(struct follower *f, struct tw_calls_log *log)
{
	int error = 0;
	while (log->first && !error) {
		error = follow_part(f, log->first);
		tw_calls_log_drop(log);
	}
	return error;
}

/* ---- the analyzer ---- */

struct arg {
	struct follower follower;
	struct tw_log_parts parts;
	struct tw_calls *out;
	unsigned jobs;
	int at_once; /* there is one state only: its log need not wait */
};

struct state {
	struct arg *arg;
	struct tw_calls_log log;
};

static void free_state(struct state *s)
{
	tw_calls_log_free(&s->log);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->arg = arg;
	s->log.parts = &s->arg->parts;
	return s;
}

/* If stretches have many slots, a part is full of these before it has so many numbers. */
static int is_long(const struct tw_calls_log *log)
{
	return log->first->next || log->first->n_numbers >= LOG_AT_ONCE;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	int error = tw_calls_log_add(&s->log, s->arg->follower.code.shapes, b);
	return !error && s->arg->at_once && is_long(&s->log) ? follow(&s->arg->follower, &s->log) : error;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int error = follow(&s->arg->follower, &s->log);
	if (!error)
		error = follow(&s->arg->follower, &from->log);
	free_state(from);
	return error;
}

static int end(void *state, int error)
{
	struct state *s = state;
	struct follower *f = &s->arg->follower;
	if (!error)
		error = follow(f, &s->log);
	if (!error) {
		finish_thread(f);
		error = tw_calls_result(&f->code.counted, &f->table, s->arg->jobs, s->arg->out);
	}
	if (error)
		tw_calls_free(s->arg->out);
	free_state(s);
	return error;
}

/* ---- the face ---- */

static int open_follower(struct follower *f, const struct tw_recording *r, const struct tw_calls_options *options)
{
	size_t n = tw_recording_n_threads(r);
	*f = (struct follower){.recording = r, .code = {.options = options, .shapes = tw_shapes_new()}};
	tw_callstack_init(&f->stack, &f->table);
	f->stack.in_parts = (int)tw_recording_info(r)->instrumented;
	f->images = calloc(n + 1, sizeof *f->images);
	int ok = f->images && f->code.shapes;
	for (size_t i = 0; ok && i < n; i++) {
		f->images[i] = tw_profile_image_of_thread(r, i);
		ok = f->images[i] != TW_NO_INDEX;
	}
	return ok ? 0 : TW_ERR_MEMORY;
}

static void close_follower(struct follower *f)
{
	for (size_t i = 0; i < f->n_forked; i++)
		tw_callstack_free(&f->forked[i].stack);
	free(f->forked);
	free(f->images);
	tw_counted_free(&f->code.counted);
	tw_shapes_free(f->code.shapes);
	tw_callstack_free(&f->stack);
	tw_call_table_free(&f->table);
}

static int run(const struct tw_recording *r, const struct tw_calls_options *options, const struct tw_replay_options *replay,
               struct tw_calls *out)
{
	static const struct tw_analyzer calls = {
	    .name = "calls", .begin = begin, .batch = batch, .merge = merge, .end = end, .needs = TW_WANTS_CALL_ADDRESSES};
	struct arg *arg = aligned_alloc(64, (sizeof *arg + 63) / 64 * 64);
	memset(out, 0, sizeof *out);
	if (!arg)
		return TW_ERR_MEMORY;
	*arg = (struct arg){.out = out, .jobs = replay->jobs, .at_once = replay->jobs <= 1};
	tw_log_parts_init(&arg->parts);
	int error = open_follower(&arg->follower, r, options);
	if (!error && options->run)
		error = options->run(options->run_context, r, replay, &calls, arg);
	else if (!error)
		error = tw_replay(r, replay, &calls, arg);
	close_follower(&arg->follower);
	tw_log_parts_fini(&arg->parts);
	free(arg);
	return error;
}

/* Damage of which the first replay has told. */
static int pass_damage(void *context, size_t thread, size_t chunk, int error)
{
	(void)context, (void)thread, (void)chunk, (void)error;
	return 0;
}

int tw_calls_run(const struct tw_recording *r, const struct tw_calls_options *options, struct tw_calls *out)
{
	struct tw_replay_options replay = options->replay;
	replay.jobs = replay.jobs < MOST_JOBS ? replay.jobs : MOST_JOBS;
	replay.grain = 1;
	int error = run(r, options, &replay, out);
	if (error || !options->again || !options->again(options->context))
		return error;
	tw_calls_free(out);
	replay.damage = replay.damage ? pass_damage : NULL;
	return run(r, options, &replay, out);
}

void tw_calls_free(struct tw_calls *calls)
{
	free(calls->insns);
	free(calls->calls);
	memset(calls, 0, sizeof *calls);
}

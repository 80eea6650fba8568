#include "learn/gather.h"
#include "learn/context.h"
#include "learn/module.h"
#include "learn/seen.h"
#include "learn/unwind.h"
#include "base/array.h"
#include "names/names.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/*
 * Kinds of what is seen beside facts. Where only some code is recorded (trackway cc), what comes next need not be where a branch led. Of direct branches the descriptor tells; a return's way
 * is an edge if it leads behind a call that was seen.
 */
enum { RETURNED = TW_FACT_KINDS, CALLER };

/* A call that is open in what is recorded: where it comes back to, and whether what it called is recorded too. */
struct open_call {
	uint64_t back;
	int entered;
};

struct state {
	const struct gather *g;
	struct tw_seen_set seen;
	/* of the thread that is replayed */
	int has_thread;
	uint32_t thread, image;
	uint64_t end;   /* behind the block that ran last; 0: what comes does not follow it */
	uint8_t end_is; /* enum tw_end */
	struct tw_block block;
	struct tw_context_stack calls;
	struct open_call *open; /* where there are holes */
	size_t n_open, open_room;
	int lost;                     /* more may be open than is known */
	struct tw_unwinder *unwinder; /* NULL: contexts are not wanted */
};

struct gather {
	const struct tw_recording *recording;
	struct tw_places places;
	struct tw_names *names; /* at the end: of all that was seen */
	unsigned what;
	int has_holes; /* only some code is recorded */
	struct tw_facts *facts;
	/* of modules, by the number of their path among the facts' texts */
	uint32_t *module_of;
	size_t n_modules_of;
};

static int see(struct state *s, const struct tw_seen *seen)
{
	if (!(s->g->what >> (seen->kind < TW_FACT_KINDS ? seen->kind : TW_FACT_EDGE) & 1))
		return TW_OK;
	return tw_seen_number(&s->seen, seen) ? TW_OK : tw_fail(TW_ERR_MEMORY, "facts");
}

/* ---- replay ---- */

static int is_branch(uint8_t end)
{
	return end == TW_END_JUMP || end == TW_END_COND || end == TW_END_CALL || end == TW_END_RETURN || end == TW_END_IJUMP ||
	       end == TW_END_ICALL;
}

static int is_call(uint8_t end)
{
	return end == TW_END_CALL || end == TW_END_ICALL;
}

/* Code went on at `to` behind a block that ended there and so. */
static int see_edge(struct state *s, uint64_t end, uint8_t end_is, uint64_t to)
{
	int error = is_branch(end_is) ? see(s, &(struct tw_seen){TW_FACT_EDGE, s->image, 0, 0, end, to}) : TW_OK;
	if (!error && is_call(end_is))
		error = see(s, &(struct tw_seen){TW_FACT_CALL, s->image, 0, 0, end, to});
	return error;
}

/* The calls that are open where recording goes on. */
static int unwind(struct state *s)
{
	uint64_t back[TW_UNWIND_MOST];
	const int n = tw_unwinder_find(s->unwinder, s->image, back);
	if (n >= 0)
		return tw_context_set(&s->calls, &s->seen, s->image, back, (size_t)n);
	tw_context_begin(&s->calls, 1);
	return TW_OK;
}

/* The context that the code at `to` runs in. */
static int follow_calls(struct state *s, uint64_t to)
{
	if (!s->unwinder)
		return TW_OK;
	if (tw_unwinder_has(s->unwinder))
		return unwind(s);
	if (s->end && (s->end_is == TW_END_CALL || s->end_is == TW_END_ICALL))
		return tw_context_call(&s->calls, &s->seen, s->image, s->end, to);
	if (s->end && s->end_is == TW_END_RETURN)
		tw_context_return(&s->calls, to);
	return TW_OK;
}

/* What is inserted at a function's start stands before its first block. */
enum { INSERTED = 256 };

/* Can the block have led there, as far as it tells? `pc` is what ran next. */
static int leads_to(const struct tw_block *b, uint64_t pc)
{
	const uint64_t behind = b->pc + b->bytes;
	switch (b->end) {
	case TW_END_JUMP:
	case TW_END_CALL:
		return pc - b->target < INSERTED;
	case TW_END_COND:
		return pc - b->target < INSERTED || pc == behind;
	case TW_END_ICALL:
		return pc != behind;
	default:
		return 1;
	}
}

static int open_call(struct state *s, uint64_t back)
{
	struct open_call *open = tw_array_room(s->open, s->n_open, &s->open_room, sizeof *open);
	if (!open)
		return tw_fail(TW_ERR_MEMORY, "facts");
	s->open = open;
	open[s->n_open++] = (struct open_call){back, 0};
	return TW_OK;
}

/* A return led to pc, or one of code that is not recorded did: it is an edge if the call that comes back there led to code that is recorded. */
static int see_return(struct state *s, uint64_t pc)
{
	size_t k = s->n_open;
	while (k && s->open[k - 1].back != pc)
		k--;
	const int is_edge = k ? s->open[k - 1].entered : s->lost;
	s->n_open = k ? k - 1 : s->n_open;
	return is_edge ? see(s, &(struct tw_seen){RETURNED, s->image, 0, 0, s->end, pc}) : TW_OK;
}

static int see_next(struct state *s, uint64_t pc)
{
	if (!s->end || !s->g->has_holes)
		return s->end ? see_edge(s, s->end, s->end_is, pc) : TW_OK;
	if (s->end_is == TW_END_RETURN)
		return see_return(s, pc);
	const int leads = leads_to(&s->block, pc);
	if (is_call(s->end_is) && s->n_open)
		s->open[s->n_open - 1].entered = leads;
	if (!leads && s->n_open && s->open[s->n_open - 1].back == pc)
		s->n_open--;
	return leads ? see_edge(s, s->end, s->end_is, pc) : TW_OK;
}

/* What comes next need not follow on what was. */
static void lose_calls(struct state *s)
{
	tw_context_begin(&s->calls, 1);
	s->end = 0;
	s->n_open = 0;
	s->lost = 1;
}

static int take_block(struct state *s, const struct tw_block_run *run)
{
	const struct tw_block *b = &tw_descriptor_blocks(run->descriptor)[run->block];
	if (!run->n_insns)
		return TW_OK;
	if (run->descriptor->flags & TW_DESC_INSERTED) {
		s->end = 0;
		return TW_OK;
	}
	int error = see_next(s, run->pc);
	error = error ? error : follow_calls(s, run->pc);
	const int whole = run->n_insns == b->n_insns;
	s->end = whole ? b->pc + b->bytes : 0;
	s->end_is = b->end;
	s->block = *b;
	if (!error && whole && s->g->has_holes && is_call(b->end))
		error = see(s, &(struct tw_seen){CALLER, s->image, 0, 0, s->end, 0}) || open_call(s, s->end) ? TW_ERR_MEMORY : TW_OK;
	if (!error && whole)
		error = see(s, &(struct tw_seen){TW_FACT_BLOCK, s->image, 0, 0, b->pc, s->end});
	return error;
}

/* What the bare engine told. */
static int take_learned(struct state *s, const struct tw_learned *l)
{
	int error = l->bytes ? see(s, &(struct tw_seen){TW_FACT_BLOCK, s->image, 0, 0, l->pc, l->pc + l->bytes}) : TW_OK;
	return error || !l->from ? error : see_edge(s, l->from, (uint8_t)l->from_end, l->pc);
}

static int take_event(struct state *s, const struct tw_event *e)
{
	switch (e->type) {
	case TW_EVENT_LEARNED:
		s->end = s->g->has_holes ? 0 : s->end; /* code that is known ran before it */
		return take_learned(s, e->payload);
	case TW_EVENT_STACK:
		return s->unwinder ? tw_unwinder_take(s->unwinder, e->payload, e->bytes) : TW_OK;
	case TW_EVENT_SIGNAL:
		s->end = 0;
		return tw_context_signal(&s->calls);
	case TW_EVENT_SIGRETURN:
		tw_context_sigreturn(&s->calls);
		s->end = 0;
		return TW_OK;
	case TW_EVENT_GAP:
	case TW_EVENT_WINDOW:
		lose_calls(s);
		return TW_OK;
	case TW_EVENT_FAULT:
		s->end = 0;
		return TW_OK;
	default:
		return TW_OK;
	}
}

/* Instructions that refer to memory. Where executions of the same code share a stretch one look is enough. */
static int take_refs(struct state *s, const struct tw_batch *b)
{
	const struct tw_stretch *last = NULL;
	int error = TW_OK;
	if (!(s->g->what >> TW_FACT_REF & 1))
		return TW_OK;
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		const struct tw_stretch *now = b->stretches[i];
		for (uint32_t k = 0; now != last && k < now->n_refs && !error; k++)
			error = see(s, &(struct tw_seen){TW_FACT_REF, s->image, 0, 0, now->refs[k].pc, now->refs[k].type});
		last = now;
	}
	return error;
}

static void begin_thread(struct state *s, uint32_t thread)
{
	s->has_thread = 1;
	s->thread = thread;
	const size_t i = tw_recording_find_thread(s->g->recording, thread);
	s->image = i < tw_recording_n_threads(s->g->recording) ? s->g->places.image_of[i] : UINT32_MAX;
	s->end = 0;
	tw_context_begin(&s->calls, 0);
	s->n_open = 0;
	s->lost = 0;
	if (s->unwinder)
		tw_unwinder_forget(s->unwinder);
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	const struct tw_block_run *run = tw_batch_blocks(b);
	size_t event = 0;
	int error = 0;
	if (!s->has_thread || s->thread != b->thread)
		begin_thread(s, b->thread);
	for (size_t i = 0; i < b->n_blocks && !error; i++) {
		for (; event < b->n_events && b->events[event].block <= i && !error; event++)
			error = take_event(s, &b->events[event]);
		error = error ? error : take_block(s, &run[i]);
	}
	for (; event < b->n_events && !error; event++)
		error = take_event(s, &b->events[event]);
	return error ? error : take_refs(s, b);
}

static void free_state(struct state *s)
{
	tw_seen_free(&s->seen);
	tw_context_stack_free(&s->calls);
	tw_unwinder_free(s->unwinder);
	free(s->open);
	free(s);
}

static void *begin(void *arg)
{
	const struct gather *g = arg;
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->g = g;
	if (!(g->what & TW_LEARN_CONTEXTS) || (s->unwinder = tw_unwinder_new(&g->places)))
		return s;
	free_state(s);
	return NULL;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	const int error = tw_seen_merge(&s->seen, &from->seen);
	free_state(from);
	return error;
}

/* ---- by name ---- */

/* The module of this path. Its file is read once. */
static uint32_t module_of(struct gather *g, const char *path)
{
	struct tw_module_file file;
	const uint32_t text = tw_facts_text(g->facts, path);
	if (text == TW_NO_TEXT)
		return TW_NO_NUMBER;
	if (text >= g->n_modules_of) {
		const size_t n = 2 * (size_t)text + 16;
		uint32_t *more = realloc(g->module_of, n * sizeof *more);
		if (!more)
			return TW_NO_NUMBER;
		memset(more + g->n_modules_of, 0, (n - g->n_modules_of) * sizeof *more);
		g->module_of = more;
		g->n_modules_of = n;
	}
	if (!g->module_of[text]) {
		tw_module_read(path, &file);
		g->module_of[text] = tw_facts_module(g->facts, file.build_id, path) + 1;
	}
	return g->module_of[text] - 1;
}

/* Is `from` the place of an instruction, not that behind one? */
static int begins_there(const struct tw_seen *seen)
{
	return seen->kind == TW_FACT_BLOCK || seen->kind == TW_FACT_REF;
}

/* Does `to` name a place? */
static int leads_somewhere(const struct tw_seen *seen)
{
	return seen->kind == TW_FACT_EDGE || seen->kind == TW_FACT_CALL || seen->kind == TW_FACT_CONTEXT_EDGE;
}

static int is_in_file(const struct tw_code_name *at)
{
	return at->path[0] && at->path[0] != '[';
}

/* Of a block where it ends, by the file's addresses; else what `to` is. */
static uint64_t end_of(const struct tw_seen *seen, uint64_t from)
{
	return seen->kind == TW_FACT_BLOCK ? from + (seen->to - seen->from) : seen->to;
}

/* Code that is in no file has no name in another run, nor has a context with such code in it. number[]: of facts, by those of what was seen, from 1. */
static int name_one(struct gather *g, const struct tw_seen *seen, uint32_t *number, size_t i)
{
	struct tw_code_name from, to;
	const int begins = begins_there(seen), leads = leads_somewhere(seen);
	tw_names_code(g->names, seen->image, begins ? seen->from : seen->from - 1, &from);
	if (leads)
		tw_names_code(g->names, seen->image, seen->to, &to);
	if (!is_in_file(&from) || (leads && !is_in_file(&to)) || (seen->parent && !number[seen->parent]))
		return TW_OK;
	struct tw_fact fact = {
	    .kind = seen->kind,
	    .module = module_of(g, from.path),
	    .function = tw_facts_text(g->facts, from.function),
	    .file = tw_facts_text(g->facts, from.file ? from.file : ""),
	    .line = from.line,
	    .parent = number[seen->parent],
	    .from = begins ? from.vaddr : from.vaddr + 1,
	};
	fact.to_module = leads ? module_of(g, to.path) : fact.module;
	fact.to = leads ? to.vaddr : end_of(seen, fact.from);
	if (fact.module == TW_NO_NUMBER || fact.to_module == TW_NO_NUMBER || fact.function == TW_NO_TEXT || fact.file == TW_NO_TEXT)
		return tw_fail(TW_ERR_MEMORY, "facts");
	const int new = tw_facts_add(g->facts, &fact);
	number[i + 1] = tw_facts_find(g->facts, &fact);
	return new < 0 ? new : TW_OK;
}

/* Where each of what was seen is, for names. */
static struct tw_names *open_names(const struct state *s)
{
	struct tw_ran_block *ran = malloc((s->seen.n + 1) * sizeof *ran);
	if (!ran)
		return NULL;
	for (size_t i = 0; i < s->seen.n; i++) {
		const struct tw_seen *seen = &s->seen.of[i];
		ran[i] = (struct tw_ran_block){tw_places_pid(&s->g->places, TW_SYMBOLS_IMAGE(seen->image)),
		                               seen->kind == TW_FACT_BLOCK ? (uint32_t)(seen->to - seen->from) : 1,
		                               begins_there(seen) ? seen->from : seen->from - 1};
	}
	struct tw_names *names = tw_names_open_with(s->g->recording, ran, s->seen.n);
	free(ran);
	return names;
}

/* Returns that are edges become that; what is no fact goes. 0 or TW_ERR_MEMORY. */
static int settle(struct state *s)
{
	const size_t all = s->seen.n;
	size_t n = 0;
	for (size_t i = 0; i < all; i++) {
		const struct tw_seen caller = {CALLER, s->seen.of[i].image, 0, 0, s->seen.of[i].to, 0};
		const uint32_t number = s->seen.of[i].kind == RETURNED ? tw_seen_number(&s->seen, &caller) : 1;
		if (!number)
			return tw_fail(TW_ERR_MEMORY, "facts");
		if (s->seen.of[i].kind == RETURNED && number <= all) /* it was there */
			s->seen.of[i].kind = TW_FACT_EDGE;
	}
	for (size_t i = 0; i < all; i++)
		if (s->seen.of[i].kind < TW_FACT_KINDS)
			s->seen.of[n++] = s->seen.of[i];
	s->seen.n = n;
	return TW_OK;
}

static int end(void *state, int error)
{
	struct state *s = state;
	struct gather *g = (struct gather *)(uintptr_t)s->g;
	if (!error && g->has_holes)
		error = settle(s);
	uint32_t *number = calloc(s->seen.n + 1, sizeof *number);
	if (!error && (!number || (s->seen.n && !(g->names = open_names(s)))))
		error = tw_fail(TW_ERR_MEMORY, "names");
	for (size_t i = 0; i < s->seen.n && !error; i++)
		error = name_one(g, &s->seen.of[i], number, i);
	free(number);
	free_state(s);
	return error;
}

int tw_learn_gather(const struct tw_recording *r, const struct tw_replay_options *options, unsigned what, struct tw_facts *f)
{
	static const struct tw_analyzer analyzer = {
	    .name = "learn", .begin = begin, .batch = batch, .merge = merge, .end = end, .needs = TW_NEEDS_FLOW, .scope = TW_SCOPE_THREADS};
	struct gather g = {.recording = r, .what = what, .has_holes = tw_recording_info(r)->instrumented != 0, .facts = f};
	const int ok = tw_places_init(&g.places, r) && module_of(&g, tw_recording_info(r)->program) != TW_NO_NUMBER;
	int error = ok ? TW_OK : tw_fail(TW_ERR_MEMORY, "facts");
	if (!tw_format_has_refs(tw_recording_info(r)->format))
		g.what &= ~(1u << TW_FACT_REF);
	if (!error)
		error = tw_replay(r, options, &analyzer, &g);
	f->runs = 1;
	free(g.module_of);
	tw_names_close(g.names);
	tw_places_free(&g.places);
	return error;
}

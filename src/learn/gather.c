#include "learn/gather.h"
#include "learn/context.h"
#include "learn/name_seen.h"
#include "learn/seen.h"
#include "learn/unwind.h"
#include "learn/ways.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

/*
 * Kinds of what is seen that are not facts. If only some code is recorded (trackway cc), the next block need not be a
 * branch's target. For direct branches the descriptor gives the target; a return is an edge if it leads behind a call
 * that was seen.
 */
enum { RETURNED = TW_FACT_KINDS, CALLER };

/* An open recorded call: where it returns to, and whether the callee is recorded too. */
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
	uint64_t end;   /* end of the last block; 0: what comes does not follow it */
	uint8_t end_is; /* enum tw_end */
	struct tw_block block;
	struct tw_ways ways;
	uint32_t stretch; /* the one that ran last; 0: it does not come again */
	struct tw_context_stack calls;
	struct open_call *open; /* where there are holes */
	size_t n_open, open_room;
	int lost;                     /* more may be open than is known */
	struct tw_unwinder *unwinder; /* NULL: contexts are not wanted */
};

struct gather {
	const struct tw_recording *recording;
	struct tw_places places;
	struct tw_seen_naming naming;
	unsigned what;
	int has_holes; /* only some code is recorded */
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

/* Execution continued at `to` after a block with this end. */
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

/* Code inserted at a function's start precedes its first block. */
enum { INSERTED = 256 };

/* Can the block have led there, according to its descriptor? `pc`: what ran next. */
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

/* A return led to pc, possibly one of unrecorded code: it is an edge if the call that returns there led to recorded code. */
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

/* Instructions that refer to memory. If executions of the same code share a stretch, one look is enough. */
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

/* ---- stretches ---- */

/* Are the facts of a stretch the same each time? A context depends on what came before, and so does an edge if there are holes. */
static int is_always_same(const struct state *s, const struct tw_stretch *now)
{
	return now->number && now->n_blocks && now->blocks->n_insns && !s->g->has_holes && !s->unwinder;
}

/* A stretch follows on the one before. */
static int follow_on(struct state *s, const struct tw_stretch *now)
{
	struct tw_way *before = s->end && s->stretch ? tw_ways_of(&s->ways, s->stretch) : NULL;
	if (before && (before->next[0] == now->number || before->next[1] == now->number))
		return TW_OK;
	if (before) {
		before->next[1] = before->next[0];
		before->next[0] = now->number;
	}
	return see_next(s, now->blocks->pc);
}

/* A stretch, with no event within. */
static int take_stretch(struct state *s, const struct tw_stretch *now)
{
	struct tw_way *way = is_always_same(s, now) ? tw_ways_of(&s->ways, now->number) : NULL;
	int error = TW_OK;
	if (way) {
		error = follow_on(s, now);
		s->end = 0;
	}
	s->stretch = way ? now->number : 0;
	if (way && way->image1 == s->image + 1) {
		s->end = way->end;
		s->end_is = way->end_is;
		return error;
	}
	for (uint32_t k = 0; k < now->n_blocks && !error; k++)
		error = take_block(s, &now->blocks[k]);
	if (way)
		*way = (struct tw_way){.end = s->end, .image1 = s->image + 1, .end_is = s->end_is};
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

/* Events that happened before this block of the batch began. */
static int take_events(struct state *s, const struct tw_batch *b, size_t *event, size_t block)
{
	int error = TW_OK;
	for (; *event < b->n_events && b->events[*event].block <= block && !error; (*event)++)
		error = take_event(s, &b->events[*event]);
	return error;
}

/* A stretch that begins with this block of the batch, and events within. */
static int take_blocks(struct state *s, const struct tw_batch *b, const struct tw_stretch *now, size_t *event, size_t block)
{
	int error = TW_OK;
	s->stretch = 0;
	for (uint32_t k = 0; k < now->n_blocks && !error; k++) {
		error = take_events(s, b, event, block + k);
		error = error ? error : take_block(s, &now->blocks[k]);
	}
	return error;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	size_t event = 0, block = 0;
	int error = 0;
	if (!s->has_thread || s->thread != b->thread)
		begin_thread(s, b->thread);
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		const struct tw_stretch *now = b->stretches[i];
		error = take_events(s, b, &event, block);
		if (!error && (event == b->n_events || b->events[event].block >= block + now->n_blocks))
			error = take_stretch(s, now);
		else if (!error)
			error = take_blocks(s, b, now, &event, block);
		block += now->n_blocks;
	}
	error = error ? error : take_events(s, b, &event, block);
	return error ? error : take_refs(s, b);
}

static void free_state(struct state *s)
{
	tw_seen_free(&s->seen);
	tw_context_stack_free(&s->calls);
	tw_unwinder_free(s->unwinder);
	tw_ways_free(&s->ways);
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

/* Turns returns that are edges into edges, and removes what is not a fact. 0 or TW_ERR_MEMORY. */
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
	if (!error)
		error = tw_seen_name(&g->naming, &s->seen);
	free_state(s);
	return error;
}

int tw_learn_gather(const struct tw_recording *r, const struct tw_replay_options *options, unsigned what, struct tw_facts *f)
{
	static const struct tw_analyzer analyzer = {
	    .name = "learn", .begin = begin, .batch = batch, .merge = merge, .end = end, .needs = TW_NEEDS_FLOW, .scope = TW_SCOPE_THREADS};
	struct gather g = {.recording = r, .what = what, .has_holes = tw_recording_info(r)->instrumented != 0};
	g.naming = (struct tw_seen_naming){.recording = r, .places = &g.places, .facts = f};
	const int ok = tw_places_init(&g.places, r) && tw_seen_module(&g.naming, tw_recording_info(r)->program) != TW_NO_NUMBER;
	int error = ok ? TW_OK : tw_fail(TW_ERR_MEMORY, "facts");
	if (!tw_format_has_refs(tw_recording_info(r)->format))
		g.what &= ~(1u << TW_FACT_REF);
	if (!error)
		error = tw_replay(r, options, &analyzer, &g);
	f->runs = 1;
	tw_seen_naming_free(&g.naming);
	tw_places_free(&g.places);
	return error;
}

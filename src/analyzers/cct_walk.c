/*
 * Batches of cct: what blocks, segments and steps do to the stack and the tree.
 */
#include "analyze/batch_walk.h"
#include "analyzers/cct_parts.h"
#include "analyzers/cct_state.h"
#include "analyzers/process.h"

#include <stdlib.h>

/* The blocks of a fragment, by their numbers. */
struct numbered {
	uint32_t program;
	uint32_t block[];
};

/* ---- threads ---- */

static int begin_thread(struct tw_cct_state *s, const struct tw_batch *b)
{
	const struct tw_recording *r = tw_context_recording(s->context);
	const size_t i = tw_recording_find_thread(r, b->thread);
	tw_cct_forget(s);
	s->thread = b->thread;
	s->program = tw_process_program_yet(s->context, b->thread);
	s->pid = i < tw_recording_n_threads(r) ? tw_recording_thread(r, i)->pid : TW_CONTEXT_NONE;
	s->next_insn = b->first_insn;
	return tw_cct_has_many_roots(s) ? tw_cct_settle(s) : 0;
}

static const struct numbered *number_blocks(struct tw_cct_state *s, const struct tw_descriptor *d)
{
	struct numbered *n = tw_by_fragment_get(&s->fragments, d->number);
	if (!n) {
		n = malloc(sizeof *n + d->n_blocks * sizeof n->block[0]);
		if (!n || !tw_by_fragment_set(&s->fragments, d->number, n)) {
			free(n);
			return NULL;
		}
	}
	n->program = s->program;
	for (unsigned k = 0; k < d->n_blocks; k++)
		n->block[k] = tw_contexts_block(&s->tree, s->program, s->thread, tw_descriptor_blocks(d)[k].pc);
	return n;
}

static inline uint32_t block_of(struct tw_cct_state *s, const struct tw_block_run *b)
{
	const struct numbered *n = tw_by_fragment_get(&s->fragments, b->descriptor->number);
	if (!n || n->program != s->program)
		n = number_blocks(s, b->descriptor);
	return n ? n->block[b->block] : TW_CONTEXT_NONE;
}

/* ---- calls ---- */

/* The last block called what follows. */
static int push_call(struct tw_cct_state *s, uint32_t block, uint64_t slot)
{
	const uint32_t node = tw_contexts_node(&s->tree, tw_cct_stack_node(&s->stack), tw_cct_last_block(s), block);
	if (node != TW_CONTEXT_NONE)
		s->tree.nodes[node].calls++;
	return tw_cct_stack_push(&s->stack, node, slot, s->back);
}

/* Control comes back to what is seen. */
static int come_in(struct tw_cct_state *s, uint32_t block, uint64_t slot, uint64_t pc)
{
	const int is_call = tw_cct_ends_with_call(s), is_return = s->end == TW_END_RETURN;
	int error = 0;
	s->was_out = 0;
	if (is_call)
		error = tw_cct_stack_call_out(&s->stack, tw_cct_last_block(s), slot, s->back);
	else if (is_return)
		error = tw_cct_stack_return_out(&s->stack, slot);
	else
		tw_cct_stack_jump_out(&s->stack, tw_cct_last_block(s));
	struct tw_names *names = tw_cct_names(s);
	error = error || names ? error : TW_ERR_MEMORY;
	return error ? error : tw_cct_stack_come_in(&s->stack, names, block, pc, is_call || is_return || s->end == TW_END_IJUMP);
}

/* Whether control stays within the function that runs, whatever comes. */
static inline int stays(const struct tw_cct_state *s)
{
	return !tw_cct_uses_stack(s->end) && !tw_cct_parts_may_leave(s) && s->stack.n && !s->was_out && !tw_cct_is_beginning(s);
}

/* Control has come to a block after the one before it ended. */
static int arrive(struct tw_cct_state *s, uint32_t block, uint64_t pc)
{
	int error = 0;
	uint64_t slot = s->stack.has_refs ? s->last_ref : 0;
	if (tw_cct_is_beginning(s) || !s->stack.n) {
		s->was_out = 0;
		return tw_cct_stack_push_lowest(&s->stack, block);
	}
	if (s->was_out)
		return come_in(s, block, slot, pc);
	if (s->in_parts) {
		int arrived;
		error = tw_cct_parts_arrive(s, block, pc, slot, &arrived);
		if (error || arrived)
			return error;
	}
	if (s->end == TW_END_RETURN) {
		error = s->stack.has_refs ? tw_cct_stack_return(&s->stack, slot) : tw_cct_stack_return_to(&s->stack, pc);
		if (!error && !s->stack.n) {
			s->stack.is_resumed &= !s->in_parts || !tw_cct_parts_begins(s, block, pc);
			error = tw_cct_stack_push_lowest(&s->stack, block);
		}
	} else if (tw_cct_ends_with_call(s)) {
		if (pc == s->back)
			return 0; /* a call of what follows it only reads the address of it */
		error = slot ? tw_cct_stack_call(&s->stack, slot, tw_cct_last_block(s)) : 0;
		return error ? error : push_call(s, block, slot);
	}
	return error;
}

/* ---- blocks ---- */

/* References of the last block that came after it, the last of them at `addr`. */
static void move_last_ref(struct tw_cct_state *s, uint64_t addr)
{
	if (tw_cct_uses_stack(s->end))
		s->last_ref = addr;
}

/* What a block costs the node that runs. */
static int count_block(struct tw_cct_state *s, uint32_t block, uint16_t n_insns, size_t n_refs)
{
	uint32_t part = tw_contexts_part(&s->tree, tw_cct_stack_node(&s->stack), block);
	if (part == TW_CONTEXT_NONE)
		return TW_ERR_MEMORY;
	struct tw_context_part *p = &s->tree.parts[part];
	p->runs += n_insns != 0;
	p->cost.insns += n_insns;
	p->cost.refs += n_refs;
	return 0;
}

static int tell_block(struct tw_cct_state *s, uint32_t block, uint16_t n_insns)
{
	const uint64_t insn = s->insn;
	s->insn += n_insns;
	return n_insns ? s->observer->moved(s->observer->context, block, insn, n_insns) : 0;
}

static int take_block(struct tw_cct_state *s, const struct tw_block_run *b, const uint64_t *addr, size_t n_refs)
{
	const struct tw_block *code = &tw_descriptor_blocks(b->descriptor)[b->block];
	uint32_t block = block_of(s, b);
	int error = block == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
	if (!error && b->n_insns)
		error = arrive(s, block, b->pc);
	if (error || !s->stack.n)
		return error;
	error = s->observer ? tell_block(s, block, b->n_insns) : count_block(s, block, b->n_insns, n_refs);
	if (error)
		return error;
	if (!b->n_insns) {
		if (n_refs)
			move_last_ref(s, addr[n_refs - 1]);
		return 0;
	}
	s->last = block;
	s->segment = TW_SEGMENT_NONE;
	s->step = TW_CCT_STEP_NONE;
	s->end = b->n_insns == code->n_insns ? code->end : TW_END_FALL;
	s->target = code->target;
	if (tw_cct_uses_stack(s->end)) {
		s->last_ref = n_refs ? addr[n_refs - 1] : 0;
		s->back = code->pc + code->bytes;
	}
	return 0;
}

/* References that stand before the first block of a stretch: more of the last block. */
static int take_leading(struct tw_cct_state *s, const uint64_t *addr, size_t n)
{
	if (tw_cct_is_beginning(s) || !s->stack.n)
		return 0;
	move_last_ref(s, addr[n - 1]);
	return s->observer ? 0 : count_block(s, tw_cct_last_block(s), 0, n);
}

/* addr: of the first reference of its stretch. */
static inline int take_segment(struct tw_cct_state *s, uint32_t number, const uint64_t *addr)
{
	const struct tw_segment *g = &s->segments.items[number];
	int error = 0;
	if (g->n_blocks && !stays(s))
		error = arrive(s, tw_segment_first(&s->segments, g), g->blocks->pc);
	if (error || !s->stack.n)
		return error;
	if (!g->n_blocks) {
		if (g->n_refs)
			move_last_ref(s, addr[g->last_ref]);
	} else {
		s->segment = number;
		s->end = g->ends;
		s->back = g->back;
		s->last_ref = g->last_ref == TW_CONTEXT_NONE || !tw_cct_uses_stack(g->ends) ? 0 : addr[g->last_ref];
	}
	return tw_segments_count(&s->segments, tw_cct_stack_node(&s->stack), number, 1);
}

/* ---- stretches ---- */

/* Where a batch has come to. */
struct walk {
	struct tw_batch_walk at;
	const uint64_t *addr; /* of the stretch's first reference */
	size_t until;         /* the stretch before which, or in which, the next event comes */
};

static int take_events(struct tw_cct_state *s, struct walk *w)
{
	const struct tw_event *event;
	int error = 0;
	while (!error && (event = tw_batch_walk_event(&w->at))) {
		error = tw_cct_take_event(s, event);
		if (!error && s->observer)
			error = s->observer->event(s->observer->context, event, s->insn);
	}
	return error;
}

/* Block by block. The first references belong to the previous block if that has not got all of its own yet. */
static int walk_blocks(struct tw_cct_state *s, struct walk *w, const struct tw_stretch *stretch)
{
	const struct tw_block_run *run = stretch->blocks;
	uint32_t leading = stretch->n_blocks ? run->first_ref : stretch->n_refs;
	int error = leading ? take_leading(s, w->addr, leading) : 0;
	for (uint32_t i = 0; i < stretch->n_blocks && !error; i++, w->at.block++) {
		uint32_t end = i + 1 < stretch->n_blocks ? run[i + 1].first_ref : stretch->n_refs;
		error = take_events(s, w);
		error = error ? error : take_block(s, &run[i], w->addr + run[i].first_ref, end - run[i].first_ref);
	}
	return error;
}

/* ---- steps ---- */

/* What a stretch turns out to be as its segments are taken: a step, if its calls and returns are usual. */
struct learning {
	struct tw_cct_step step;
	struct tw_cct_turn turns[TW_CCT_TURNS_MOST];
	uint32_t before; /* the segment that ended before it */
	unsigned n;      /* segments so far */
	uint16_t ref;    /* the last reference of the block that ended */
	int is_step, is_linked;
};

static void begin_learning(const struct tw_cct_state *s, struct learning *l, const struct tw_stretch *stretch)
{
	l->step = (struct tw_cct_step){.stretch = stretch->number, .n_refs = (uint16_t)stretch->n_refs};
	l->before = s->segment;
	l->n = 0;
	l->ref = TW_CCT_REF_BEFORE;
	l->is_step = stretch->n_refs < TW_CCT_REFS_MOST;
	l->is_linked = s->step != TW_CCT_STEP_NONE && !s->was_out;
}

/* A call or return leads to the segment: is it as usual? */
static void learn_turn(struct tw_cct_state *s, struct learning *l, const struct tw_segment *g)
{
	const int is_return = s->end == TW_END_RETURN, is_call = !is_return && g->blocks->pc != s->back;
	const uint64_t slot = s->stack.has_refs ? s->last_ref : 0;
	int is_usual =
	    is_return ? tw_cct_stack_returns_top(&s->stack, slot, g->blocks->pc) : is_call && tw_cct_stack_calls_above(&s->stack, slot);
	if (s->in_parts && is_call)
		is_usual &= tw_cct_parts_is_usual(s, tw_segment_first(&s->segments, g), g->blocks->pc);
	if (!l->n) {
		l->is_linked &= is_usual;
		l->step.begins = is_call ? TW_CCT_CALLED : TW_CCT_BEGINS;
		return;
	}
	if (!is_return && !is_call)
		return;
	l->is_step &= is_usual && l->step.n_turns < TW_CCT_TURNS_MOST;
	if (l->is_step)
		l->turns[l->step.n_turns++] =
		    (struct tw_cct_turn){.segment = (uint16_t)l->n, .ref = l->ref, .back = is_call ? s->back : 0, .pc = g->blocks->pc};
}

/* Before a segment is taken. */
static void learn_before(struct tw_cct_state *s, struct learning *l, const struct tw_segment *g)
{
	const int is_followed = s->stack.n && !tw_cct_is_beginning(s) && !s->was_out;
	if (!g->n_blocks) {
		l->is_step &= s->step != TW_CCT_STEP_NONE;
		l->step.begins = TW_CCT_GOES_ON;
	} else if (is_followed && tw_cct_uses_stack(s->end)) {
		learn_turn(s, l, g);
	} else if (is_followed && tw_cct_parts_may_leave(s) &&
	           !tw_cct_parts_is_usual(s, tw_segment_first(&s->segments, g), g->blocks->pc)) {
		l->is_linked = 0;
		l->is_step &= !l->n;
	}
}

/* ...and after it. */
static void learn_after(const struct tw_cct_state *s, struct learning *l, const struct tw_segment *g)
{
	const unsigned n_turns = l->step.n_turns;
	l->is_step &= s->stack.n != 0;
	if (!l->is_step)
		return;
	if (!l->n)
		l->step.node = tw_cct_stack_node(&s->stack);
	else if (n_turns && l->turns[n_turns - 1].segment == l->n)
		l->turns[n_turns - 1].node = tw_cct_stack_node(&s->stack);
	if (g->n_blocks)
		l->ref = g->last_ref == TW_CONTEXT_NONE ? TW_CCT_REF_NONE : (uint16_t)g->last_ref;
	else if (g->n_refs && tw_cct_uses_stack(s->end))
		l->ref = (uint16_t)g->last_ref;
	l->n++;
}

/* When there are so many, half of them or more are forgotten. */
enum { MOST_STEPS = 1 << 21 };

static int learn(struct tw_cct_state *s, struct learning *l, const struct tw_stretch *stretch)
{
	const uint32_t before = s->step;
	int error = 0;
	s->step = TW_CCT_STEP_NONE;
	if (!l->is_step)
		return 0;
	if (s->steps.n >= MOST_STEPS)
		return tw_cct_steps_thin(&s->steps, &s->segments, &s->tree);
	l->step.segment = s->segment;
	l->step.last_ref = l->ref;
	l->step.end = s->end;
	l->step.ends_turned = (uint8_t)tw_cct_uses_stack(s->end);
	l->step.back = s->back;
	const uint32_t step = tw_cct_steps_add(&s->steps, &l->step, l->turns, l->before);
	if (l->is_linked && step != TW_CCT_STEP_NONE)
		error = tw_cct_steps_link(&s->steps, before, stretch, step);
	s->step = step;
	return error;
}

static int walk_segments(struct tw_cct_state *s, struct walk *w, const struct tw_stretch *stretch)
{
	uint32_t number = tw_segments_known(&s->segments, stretch->number, s->program);
	const uint32_t n_counts = s->segments.n_counts;
	struct learning l;
	int error = 0;
	if (number == TW_SEGMENT_NONE)
		number = tw_segments_of(&s->segments, &s->tree, stretch, s->program, s->thread, tw_cct_last_block(s));
	if (number == TW_SEGMENT_NONE)
		return TW_ERR_MEMORY;
	if (number == TW_SEGMENT_SLOW)
		return walk_blocks(s, w, stretch);
	begin_learning(s, &l, stretch);
	do {
		const struct tw_segment *g = &s->segments.items[number];
		learn_before(s, &l, g);
		error = take_segment(s, number, w->addr);
		learn_after(s, &l, g);
	} while (!error && !s->segments.items[number++].is_last);
	w->at.block += stretch->n_blocks;
	l.is_step &= s->segments.n_counts == n_counts; /* most of what runs once in a node does not come again */
	return error ? error : learn(s, &l, stretch);
}

/* ---- batches ---- */

/* Sets w->until, from stretch i on. */
static void look_ahead(struct walk *w, size_t i)
{
	size_t block = w->at.block;
	w->until = w->at.b->n_stretches;
	if (w->at.event == w->at.b->n_events)
		return;
	for (w->until = i; w->until < w->at.b->n_stretches; w->until++) {
		block += w->at.b->stretches[w->until]->n_blocks;
		if (w->at.b->events[w->at.event].block < block)
			return;
	}
}

/* Follows steps from stretch i on. Returns how many stretches it was. */
static size_t follow(struct tw_cct_state *s, struct walk *w, size_t i)
{
	struct tw_cct_at at = {.step = s->step, .last_ref = s->last_ref, .addr = w->addr};
	if (s->step == TW_CCT_STEP_NONE || i >= w->until)
		return 0;
	const size_t n = tw_cct_steps_follow(&s->steps, &s->stack, w->at.b->stretches + i, w->until - i, &at);
	if (!n)
		return 0;
	const struct tw_cct_step *step = &s->steps.items[at.step];
	s->step = at.step;
	s->segment = step->segment;
	s->end = step->end;
	s->back = step->back;
	s->last_ref = at.last_ref;
	w->addr = at.addr;
	for (size_t k = i; w->at.event < w->at.b->n_events && k < i + n; k++)
		w->at.block += w->at.b->stretches[k]->n_blocks;
	return n;
}

/* A stretch that is no known step. */
static int take_stretch(struct tw_cct_state *s, struct walk *w, size_t i)
{
	const struct tw_stretch *stretch = w->at.b->stretches[i];
	const size_t event = w->at.event;
	int error = 0, eventful = tw_batch_walk_has_events(&w->at, stretch);
	if (eventful && !stretch->blocks->first_ref) {
		error = take_events(s, w);
		eventful = tw_batch_walk_has_events(&w->at, stretch);
	}
	if (!error)
		error = stretch->number && !eventful && !s->observer ? walk_segments(s, w, stretch) : walk_blocks(s, w, stretch);
	w->addr += stretch->n_refs;
	if (event != w->at.event)
		look_ahead(w, i + 1);
	return error;
}

int tw_cct_batch(void *state, const struct tw_batch *b)
{
	struct tw_cct_state *s = state;
	struct walk w = {.at = {.b = b}, .addr = b->addr};
	int error = 0;
	if (s->thread != b->thread)
		error = begin_thread(s, b);
	if (!error && s->tree.n_nodes > s->most_nodes)
		error = tw_cct_shrink(s);
	if (s->next_insn != b->first_insn) {
		s->was_out = 1;
		s->step = TW_CCT_STEP_NONE;
	}
	s->next_insn = b->first_insn + b->n_insns;
	s->insn = b->first_insn;
	look_ahead(&w, 0);
	for (size_t i = 0; i < b->n_stretches && !error;) {
		const size_t n = follow(s, &w, i);
		i += n;
		if (!n)
			error = take_stretch(s, &w, i++);
	}
	return error ? error : take_events(s, &w);
}

/*
 * cct: the calling-context tree: which call led to which, and what each context executed, by itself and with what it called. contexts.h has the rules.
 */
#include "analyzers/cct.h"
#include "analyze/by_fragment.h"
#include "analyzers/cct_stack.h"
#include "analyzers/cct_steps.h"
#include "analyzers/contexts_join.h"
#include "analyzers/flame.h"
#include "analyzers/forks.h"
#include "analyzers/process.h"
#include "analyzers/segments.h"
#include "base/array.h"

#include <trackway/names.h>

#include <stdlib.h>
#include <string.h>

/* The blocks of a fragment, by their numbers. */
struct numbered {
	uint32_t program;
	uint32_t block[];
};

struct state {
	const struct tw_context *context;
	struct tw_names *names;      /* NULL: the context's */
	struct tw_context_tree *out; /* where the tree goes instead of an answer; NULL: an answer is wanted */
	struct tw_contexts tree;
	struct tw_cct_stack stack;
	struct tw_forks *forks;
	size_t most_roots; /* of the tree: of more it is seen whether their forks were met */
	size_t most_nodes; /* of more it is seen which are the same by names */
	struct tw_segments segments;
	struct tw_cct_steps steps;
	struct tw_by_fragment fragments; /* struct numbered */
	uint32_t thread, program;        /* of the batch; TW_CONTEXT_NONE: none so far */
	uint32_t pid;
	uint64_t next_insn; /* of the thread: the number of the one that the next batch begins with, if no code was left out */
	int was_out;        /* code was left out before what follows */
	uint32_t step;      /* that was the last thing to happen; TW_CCT_STEP_NONE: something else was */
	/* How the next block is reached. */
	uint32_t segment;  /* that ended; TW_SEGMENT_NONE: a block that was taken by itself, */
	uint32_t last;     /* the number of that; TW_CONTEXT_NONE with TW_SEGMENT_NONE: what follows is a beginning */
	uint8_t end;       /* enum tw_end of it; TW_END_FALL also where it did not come to its end */
	uint64_t last_ref; /* address of its last reference; 0: none */
	uint64_t back;     /* address behind it */
	int in_handler;    /* a signal's handler has begun, and its frame awaits its place on the stack */
};

/* ---- states ---- */

/* Nothing is known of the calls that are open from here on. */
static void forget_stacks(struct state *s)
{
	tw_cct_stack_forget(&s->stack);
	s->last = TW_CONTEXT_NONE;
	s->segment = TW_SEGMENT_NONE;
	s->step = TW_CCT_STEP_NONE;
	s->in_handler = 0;
	s->was_out = 0;
}

static void resume(struct state *s)
{
	forget_stacks(s);
	s->stack.is_resumed = 1;
}

static void free_state(struct state *s)
{
	tw_cct_stack_free(&s->stack);
	tw_forks_leave(s->forks);
	tw_contexts_free(&s->tree);
	tw_segments_free(&s->segments);
	tw_cct_steps_free(&s->steps);
	tw_by_fragment_free(&s->fragments, free);
	free(s);
}

static int has_ended(const struct state *s)
{
	return s->names || tw_recording_info(tw_context_recording(s->context))->complete;
}

/* So many nodes are no burden. While the program runs, names must be opened once more for less than that. */
static size_t least_many_nodes(const struct state *s)
{
	return has_ended(s) ? 1 << 12 : 1 << 17;
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	struct tw_forks *forks = tw_forks_take(arg);
	if (!s || !forks) {
		free(s);
		tw_forks_leave(forks);
		return NULL;
	}
	s->context = arg;
	s->forks = forks;
	s->stack.tree = &s->tree;
	s->stack.has_refs = tw_format_has_stack(tw_recording_info(tw_context_recording(arg))->format);
	s->thread = s->pid = TW_CONTEXT_NONE;
	s->most_nodes = least_many_nodes(s);
	forget_stacks(s);
	return s;
}

/* What was counted goes to the tree, and what forked processes have inherited is looked for where that may be found by now. No stack is followed. */
static int settle(struct state *s)
{
	int error = tw_cct_steps_settle(&s->steps, &s->segments, &s->tree);
	error = error ? error : tw_segments_settle(&s->segments, &s->tree);
	error = error ? error : tw_forks_resolve(s->forks, &s->tree);
	s->most_roots = 2 * s->tree.n_roots;
	return error;
}

static int has_too_many_roots(const struct state *s)
{
	enum { MANY = 64 };
	return s->tree.n_roots > s->most_roots + MANY;
}

static struct tw_names *final_names(const struct state *s)
{
	return s->names ? s->names : tw_context_names(s->context);
}

/* While the program runs, names are those of what is known of it so far. */
static int join_nodes(struct state *s, uint32_t *node)
{
	const int are_last = has_ended(s);
	struct tw_names *names = are_last ? final_names(s) : tw_names_open(tw_context_recording(s->context), NULL);
	int error = names ? tw_contexts_join(&s->tree, names, are_last, node) : TW_ERR_MEMORY;
	if (!are_last)
		tw_names_close(names);
	return error;
}

/* The tree has many nodes: call sites of one function are not told apart any longer. */
static int shrink(struct state *s)
{
	const size_t least = least_many_nodes(s);
	uint32_t *node = malloc(s->tree.n_nodes * sizeof *node);
	int error = node ? tw_cct_steps_settle(&s->steps, &s->segments, &s->tree) : TW_ERR_MEMORY;
	error = error ? error : tw_segments_settle(&s->segments, &s->tree);
	error = error ? error : join_nodes(s, node);
	if (!error)
		tw_cct_stack_renumber(&s->stack, node);
	free(node);
	s->step = TW_CCT_STEP_NONE;
	s->most_nodes = 2 * s->tree.n_nodes > least ? 2 * s->tree.n_nodes : least;
	return error;
}

static int begin_thread(struct state *s, const struct tw_batch *b)
{
	const struct tw_recording *r = tw_context_recording(s->context);
	const size_t i = tw_recording_find_thread(r, b->thread);
	forget_stacks(s);
	s->thread = b->thread;
	s->program = tw_process_program_yet(s->context, b->thread);
	s->pid = i < tw_recording_n_threads(r) ? tw_recording_thread(r, i)->pid : TW_CONTEXT_NONE;
	s->next_insn = b->first_insn;
	return has_too_many_roots(s) ? settle(s) : 0;
}

static const struct numbered *number_blocks(struct state *s, const struct tw_descriptor *d)
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

static inline uint32_t block_of(struct state *s, const struct tw_block_run *b)
{
	const struct numbered *n = tw_by_fragment_get(&s->fragments, b->descriptor->number);
	if (!n || n->program != s->program)
		n = number_blocks(s, b->descriptor);
	return n ? n->block[b->block] : TW_CONTEXT_NONE;
}

/* The number of the block that ended; TW_CONTEXT_NONE: what follows is a beginning. */
static uint32_t last_block(const struct state *s)
{
	return s->segment == TW_SEGMENT_NONE ? s->last : tw_segment_last(&s->segments, &s->segments.items[s->segment]);
}

static int is_beginning(const struct state *s)
{
	return s->segment == TW_SEGMENT_NONE && s->last == TW_CONTEXT_NONE;
}

/* ---- calls ---- */

/* The last block called what follows. */
static int push_call(struct state *s, uint32_t block, uint64_t slot)
{
	const uint32_t node = tw_contexts_node(&s->tree, tw_cct_stack_node(&s->stack), last_block(s), block);
	if (node != TW_CONTEXT_NONE)
		s->tree.nodes[node].calls++;
	return tw_cct_stack_push(&s->stack, node, slot, s->back);
}

/* Control comes back to what is seen. */
static int come_in(struct state *s, uint32_t block, uint64_t slot, uint64_t pc)
{
	const int is_call = s->end == TW_END_CALL || s->end == TW_END_ICALL, is_return = s->end == TW_END_RETURN;
	int error = 0;
	s->was_out = 0;
	if (is_call)
		error = tw_cct_stack_call_out(&s->stack, last_block(s), slot, s->back);
	else if (is_return)
		error = tw_cct_stack_return_out(&s->stack, slot);
	else
		tw_cct_stack_jump_out(&s->stack, last_block(s));
	struct tw_names *names = final_names(s);
	error = error || names ? error : TW_ERR_MEMORY;
	return error ? error : tw_cct_stack_come_in(&s->stack, names, block, pc, is_call || is_return || s->end == TW_END_IJUMP);
}

/* Whether the place on the stack of a block's return, call or neither is to be known. */
static int uses_stack(uint8_t end)
{
	return end == TW_END_RETURN || end == TW_END_CALL || end == TW_END_ICALL;
}

/* Whether control stays within the function that runs, whatever comes. */
static inline int stays(const struct state *s)
{
	return !uses_stack(s->end) && s->stack.n && !s->was_out && !is_beginning(s);
}

/* Control has come to a block after the one before it ended. */
static int arrive(struct state *s, uint32_t block, uint64_t pc)
{
	int error = 0;
	uint64_t slot = s->stack.has_refs ? s->last_ref : 0;
	if (is_beginning(s) || !s->stack.n) {
		s->was_out = 0;
		return tw_cct_stack_push_lowest(&s->stack, block);
	}
	if (s->was_out)
		return come_in(s, block, slot, pc);
	if (s->end == TW_END_RETURN) {
		error = s->stack.has_refs ? tw_cct_stack_return(&s->stack, slot) : tw_cct_stack_return_to(&s->stack, pc);
		if (!error && !s->stack.n)
			error = tw_cct_stack_push_lowest(&s->stack, block);
	} else if (s->end == TW_END_CALL || s->end == TW_END_ICALL) {
		if (pc == s->back)
			return 0; /* a call of what follows it only reads the address of it */
		error = slot ? tw_cct_stack_call(&s->stack, slot, last_block(s)) : 0;
		return error ? error : push_call(s, block, slot);
	}
	return error;
}

/* ---- blocks ---- */

/* References of the last block that came after it, the last of them at `addr`. */
static void move_last_ref(struct state *s, uint64_t addr)
{
	if (uses_stack(s->end))
		s->last_ref = addr;
}

static int take_block(struct state *s, const struct tw_block_run *b, const uint64_t *addr, size_t n_refs)
{
	const struct tw_block *code = &tw_descriptor_blocks(b->descriptor)[b->block];
	uint32_t block = block_of(s, b);
	int error = block == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
	if (!error && b->n_insns)
		error = arrive(s, block, b->pc);
	if (error || !s->stack.n)
		return error;
	uint32_t part = tw_contexts_part(&s->tree, tw_cct_stack_node(&s->stack), block);
	if (part == TW_CONTEXT_NONE)
		return TW_ERR_MEMORY;
	struct tw_context_part *p = &s->tree.parts[part];
	p->runs += b->n_insns != 0;
	p->cost.insns += b->n_insns;
	p->cost.refs += n_refs;
	if (!b->n_insns) {
		if (n_refs)
			move_last_ref(s, addr[n_refs - 1]);
		return 0;
	}
	s->last = block;
	s->segment = TW_SEGMENT_NONE;
	s->step = TW_CCT_STEP_NONE;
	s->end = b->n_insns == code->n_insns ? code->end : TW_END_FALL;
	if (uses_stack(s->end)) {
		s->last_ref = n_refs ? addr[n_refs - 1] : 0;
		s->back = code->pc + code->bytes;
	}
	return 0;
}

/* References that stand before the first block of a stretch: more of the last block. */
static int take_leading(struct state *s, const uint64_t *addr, size_t n)
{
	if (is_beginning(s) || !s->stack.n)
		return 0;
	uint32_t part = tw_contexts_part(&s->tree, tw_cct_stack_node(&s->stack), last_block(s));
	if (part == TW_CONTEXT_NONE)
		return TW_ERR_MEMORY;
	s->tree.parts[part].cost.refs += n;
	move_last_ref(s, addr[n - 1]);
	return 0;
}

/* addr: of the first reference of its stretch. */
static inline int take_segment(struct state *s, uint32_t number, const uint64_t *addr)
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
		s->last_ref = g->last_ref == TW_CONTEXT_NONE || !uses_stack(g->ends) ? 0 : addr[g->last_ref];
	}
	return tw_segments_count(&s->segments, tw_cct_stack_node(&s->stack), number, 1);
}

/* ---- events ---- */

/* A signal has come between a call or return and what that led to. */
static int end_block(struct state *s, uint64_t pc)
{
	uint64_t slot = s->stack.has_refs ? s->last_ref : 0;
	if (s->end == TW_END_CALL || s->end == TW_END_ICALL)
		return pc == s->back ? 0 : tw_cct_stack_call_out(&s->stack, last_block(s), slot, s->back);
	if (s->end == TW_END_RETURN)
		return s->stack.has_refs ? tw_cct_stack_return_out(&s->stack, slot) : tw_cct_stack_return_to(&s->stack, pc);
	return 0;
}

/* A handler is a beginning of its own; the keyframe behind the event tells where its return address stands. */
static int take_signal(struct state *s, const struct tw_signal *signal)
{
	uint32_t entry = tw_contexts_block(&s->tree, s->program, s->thread, signal->handler);
	uint32_t at = tw_contexts_block(&s->tree, s->program, s->thread, signal->pc);
	int error = entry == TW_CONTEXT_NONE || at == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
	const int is_running = s->stack.n > 0 || s->stack.root != TW_CONTEXT_NONE;
	if (!error && s->stack.n && !is_beginning(s))
		error = end_block(s, signal->pc);
	if (!error && is_running && !s->stack.n)
		error = tw_cct_stack_push_lowest(&s->stack, at);
	if (error || !is_running)
		return error;
	s->in_handler = 1;
	s->end = TW_END_FALL;
	uint32_t node = tw_contexts_node(&s->tree, TW_CONTEXT_NONE, TW_CONTEXT_NONE, entry);
	if (node != TW_CONTEXT_NONE)
		s->tree.nodes[node].calls++;
	return tw_cct_stack_push(&s->stack, node, 0, 0);
}

static void take_keyframe(struct state *s, const struct tw_keyframe *k)
{
	if (s->in_handler)
		s->stack.frames[s->stack.n - 1].slot = k->regs[TW_RSP];
	else if (is_beginning(s) && s->stack.has_refs)
		s->stack.first = k->regs[TW_RSP];
	s->in_handler = 0;
}

/* A process that begins was forked, unless it says that it begins a program. */
static int take_start(struct state *s, const struct tw_thread_start *t)
{
	const struct tw_context_root root = {.pid = t->pid, .before = TW_CONTEXT_NONE, .tsc = t->tsc, .parent_pid = t->parent_pid};
	return t->pid == t->tid && t->parent_pid != t->pid ? tw_cct_stack_inherit(&s->stack, &root) : 0;
}

static int take_fork(struct state *s, const struct tw_fork *fork)
{
	const uint64_t clone_thread = 0x10000;
	if (!fork->followed || (fork->flags & clone_thread))
		return 0;
	return tw_forks_add(s->forks, s->pid, fork->child_pid, fork->tsc, &s->tree, s->stack.frames, s->stack.n);
}

static int take_event(struct state *s, const struct tw_event *e)
{
	s->step = TW_CCT_STEP_NONE;
	switch (e->type) {
	case TW_EVENT_SIGNAL:
		return take_signal(s, e->payload);
	case TW_EVENT_KEYFRAME:
		take_keyframe(s, e->payload);
		break;
	case TW_EVENT_THREAD_START:
		return take_start(s, e->payload);
	case TW_EVENT_PROGRAM:
		if (is_beginning(s))
			s->stack.root = TW_CONTEXT_NONE;
		break;
	case TW_EVENT_FORK:
		return take_fork(s, e->payload);
	default:
		break;
	}
	if (e->type == TW_EVENT_SIGRETURN || tw_event_breaks(e->type))
		s->end = TW_END_FALL;
	if (tw_event_breaks_calls(e->type, e->payload))
		resume(s);
	else if (e->type == TW_EVENT_GAP && !s->stack.n)
		s->stack.is_resumed = 1;
	return 0;
}

/* Where a batch has come to. */
struct walk {
	const struct tw_batch *b;
	const uint64_t *addr; /* of the stretch's first reference */
	size_t block, event;  /* the next of each */
	size_t until;         /* the stretch before which, or in which, it comes */
};

static int take_events(struct state *s, struct walk *w)
{
	int error = 0;
	for (; w->event < w->b->n_events && w->b->events[w->event].block <= w->block && !error; w->event++)
		error = take_event(s, &w->b->events[w->event]);
	return error;
}

/* Block by block. The first of the references belong to a block before where it has not got them all yet. */
static int walk_blocks(struct state *s, struct walk *w, const struct tw_stretch *stretch)
{
	const struct tw_block_run *run = stretch->blocks;
	uint32_t leading = stretch->n_blocks ? run->first_ref : stretch->n_refs;
	int error = leading ? take_leading(s, w->addr, leading) : 0;
	for (uint32_t i = 0; i < stretch->n_blocks && !error; i++, w->block++) {
		uint32_t end = i + 1 < stretch->n_blocks ? run[i + 1].first_ref : stretch->n_refs;
		error = take_events(s, w);
		error = error ? error : take_block(s, &run[i], w->addr + run[i].first_ref, end - run[i].first_ref);
	}
	return error;
}

/* ---- steps ---- */

/* What a stretch is found to be as its segments are taken: a step, if its calls and returns are as usual. */
struct learning {
	struct tw_cct_step step;
	struct tw_cct_turn turns[TW_CCT_TURNS_MOST];
	uint32_t before; /* the segment that ended before it */
	unsigned n;      /* segments so far */
	uint16_t ref;    /* the last reference of the block that ended */
	int is_step, is_linked;
};

static void begin_learning(const struct state *s, struct learning *l, const struct tw_stretch *stretch)
{
	l->step = (struct tw_cct_step){.stretch = stretch->number, .n_refs = (uint16_t)stretch->n_refs};
	l->before = s->segment;
	l->n = 0;
	l->ref = TW_CCT_REF_BEFORE;
	l->is_step = stretch->n_refs < TW_CCT_REFS_MOST;
	l->is_linked = s->step != TW_CCT_STEP_NONE && !s->was_out;
}

/* A call or return leads to the segment: is it as usual? */
static void learn_turn(const struct state *s, struct learning *l, const struct tw_segment *g)
{
	const int is_return = s->end == TW_END_RETURN, is_call = !is_return && g->blocks->pc != s->back;
	const uint64_t slot = s->stack.has_refs ? s->last_ref : 0;
	const int is_usual =
	    is_return ? tw_cct_stack_returns_top(&s->stack, slot, g->blocks->pc) : is_call && tw_cct_stack_calls_above(&s->stack, slot);
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
static void learn_before(const struct state *s, struct learning *l, const struct tw_segment *g)
{
	const int is_followed = s->stack.n && !is_beginning(s) && !s->was_out;
	if (!g->n_blocks) {
		l->is_step &= s->step != TW_CCT_STEP_NONE;
		l->step.begins = TW_CCT_GOES_ON;
	} else if (is_followed && uses_stack(s->end)) {
		learn_turn(s, l, g);
	}
}

/* ...and after it. */
static void learn_after(const struct state *s, struct learning *l, const struct tw_segment *g)
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
	else if (g->n_refs && uses_stack(s->end))
		l->ref = (uint16_t)g->last_ref;
	l->n++;
}

/* When there are so many, half of them or more are forgotten. */
enum { MOST_STEPS = 1 << 21 };

static int learn(struct state *s, struct learning *l, const struct tw_stretch *stretch)
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
	l->step.ends_turned = (uint8_t)uses_stack(s->end);
	l->step.back = s->back;
	const uint32_t step = tw_cct_steps_add(&s->steps, &l->step, l->turns, l->before);
	if (l->is_linked && step != TW_CCT_STEP_NONE)
		error = tw_cct_steps_link(&s->steps, before, stretch, step);
	s->step = step;
	return error;
}

static int walk_segments(struct state *s, struct walk *w, const struct tw_stretch *stretch)
{
	uint32_t number = tw_segments_known(&s->segments, stretch->number, s->program);
	const uint32_t n_counts = s->segments.n_counts;
	struct learning l;
	int error = 0;
	if (number == TW_SEGMENT_NONE)
		number = tw_segments_of(&s->segments, &s->tree, stretch, s->program, s->thread, last_block(s));
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
	w->block += stretch->n_blocks;
	l.is_step &= s->segments.n_counts == n_counts; /* most of what runs once in a node does not come again */
	return error ? error : learn(s, &l, stretch);
}

/* ---- batches ---- */

/* Whether something happens between its blocks. */
static int has_events(const struct walk *w, const struct tw_stretch *stretch)
{
	return w->event < w->b->n_events && w->b->events[w->event].block < w->block + stretch->n_blocks;
}

/* Sets w->until, from stretch i on. */
static void look_ahead(struct walk *w, size_t i)
{
	size_t block = w->block;
	w->until = w->b->n_stretches;
	if (w->event == w->b->n_events)
		return;
	for (w->until = i; w->until < w->b->n_stretches; w->until++) {
		block += w->b->stretches[w->until]->n_blocks;
		if (w->b->events[w->event].block < block)
			return;
	}
}

/* Follows steps from stretch i on. Returns how many stretches it was. */
static size_t follow(struct state *s, struct walk *w, size_t i)
{
	struct tw_cct_at at = {.step = s->step, .last_ref = s->last_ref, .addr = w->addr};
	if (s->step == TW_CCT_STEP_NONE || i >= w->until)
		return 0;
	const size_t n = tw_cct_steps_follow(&s->steps, &s->stack, w->b->stretches + i, w->until - i, &at);
	if (!n)
		return 0;
	const struct tw_cct_step *step = &s->steps.items[at.step];
	s->step = at.step;
	s->segment = step->segment;
	s->end = step->end;
	s->back = step->back;
	s->last_ref = at.last_ref;
	w->addr = at.addr;
	for (size_t k = i; w->event < w->b->n_events && k < i + n; k++)
		w->block += w->b->stretches[k]->n_blocks;
	return n;
}

/* A stretch that is no known step. */
static int take_stretch(struct state *s, struct walk *w, size_t i)
{
	const struct tw_stretch *stretch = w->b->stretches[i];
	const size_t event = w->event;
	int error = 0, eventful = has_events(w, stretch);
	if (eventful && !stretch->blocks->first_ref) {
		error = take_events(s, w);
		eventful = has_events(w, stretch);
	}
	if (!error)
		error = stretch->number && !eventful ? walk_segments(s, w, stretch) : walk_blocks(s, w, stretch);
	w->addr += stretch->n_refs;
	if (event != w->event)
		look_ahead(w, i + 1);
	return error;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	struct walk w = {.b = b, .addr = b->addr};
	int error = 0;
	if (s->thread != b->thread)
		error = begin_thread(s, b);
	if (!error && s->tree.n_nodes > s->most_nodes)
		error = shrink(s);
	if (s->next_insn != b->first_insn) {
		s->was_out = 1;
		s->step = TW_CCT_STEP_NONE;
	}
	s->next_insn = b->first_insn + b->n_insns;
	look_ahead(&w, 0);
	for (size_t i = 0; i < b->n_stretches && !error;) {
		const size_t n = follow(s, &w, i);
		i += n;
		if (!n)
			error = take_stretch(s, &w, i++);
	}
	return error ? error : take_events(s, &w);
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int error = settle(from);
	error = error ? error : tw_contexts_merge(&s->tree, &from->tree);
	if (!error && has_too_many_roots(s)) {
		forget_stacks(s);
		error = settle(s);
	}
	if (!error && s->tree.n_nodes > s->most_nodes)
		error = shrink(s);
	free_state(from);
	return error;
}

/* ---- as bytes ---- */

static int pack(const void *state, FILE *to)
{
	struct state *s = (struct state *)state; /* what is counted moves within it */
	int error = settle(s);
	error = error ? error : tw_contexts_pack(&s->tree, to);
	return error ? error : tw_forks_pack(s->forks, to);
}

static int unpack(void *state, FILE *from)
{
	struct state *s = state;
	int error = tw_contexts_unpack(&s->tree, from);
	return error ? error : tw_forks_unpack(s->forks, from);
}

/* ---- the answer ---- */

struct printing {
	const struct tw_context_tree *tree;
	uint32_t *first, *next; /* children of each item, the most expensive first */
	double least;
	struct tw_answer *answer;
};

static int print_item(const struct printing *p, uint32_t i, uint32_t depth)
{
	const struct tw_context_function *f = &p->tree->items[i];
	double share = (double)f->all.insns / (double)(p->tree->items->all.insns + !p->tree->items->all.insns);
	char *name = NULL;
	if (share < p->least)
		return 0;
	if (asprintf(&name, "%*s%s", (int)(depth < 40 ? depth : 40), "", f->name) < 0)
		return TW_ERR_MEMORY;
	tw_answer_row(p->answer, (struct tw_cell[]){{.count = depth},
	                                            {.real = share},
	                                            {.count = f->all.insns},
	                                            {.count = f->own.insns},
	                                            {.count = f->all.refs},
	                                            {.count = f->calls},
	                                            {.text = name}});
	free(name);
	return 0;
}

/* Depth first, without recursion: programs recurse deeper than there is stack here. */
static int print_tree(const struct printing *p)
{
	uint32_t *depth = calloc(p->tree->n, sizeof *depth);
	uint32_t i = p->first[0];
	int error = depth ? 0 : TW_ERR_MEMORY;
	while (i && !error) {
		error = print_item(p, i, depth[i]);
		if (p->first[i]) {
			depth[p->first[i]] = depth[i] + 1;
			i = p->first[i];
			continue;
		}
		while (i && !p->next[i])
			i = p->tree->items[i].parent;
		if (i) {
			depth[p->next[i]] = depth[i];
			i = p->next[i];
		}
	}
	free(depth);
	return error;
}

static int print_text(const struct state *s, const struct tw_context_tree *tree)
{
	static const struct tw_column columns[] = {
	    {"depth", TW_COLUMN_COUNT},      {"share", TW_COLUMN_SHARE}, {"inclusive", TW_COLUMN_COUNT}, {"exclusive", TW_COLUMN_COUNT},
	    {"references", TW_COLUMN_COUNT}, {"calls", TW_COLUMN_COUNT}, {"function", TW_COLUMN_TEXT},   {NULL, 0}};
	struct tw_answer *a = tw_context_answer(s->context);
	struct printing p = {.tree = tree, .answer = a, .least = (double)tw_context_number(s->context, "least") / 100};
	int error = tw_flame_children(tree, &p.first, &p.next);
	if (!error) {
		tw_answer_fact(a, "instructions", tree->items->all.insns);
		tw_answer_fact(a, "references", tree->items->all.refs);
		tw_answer_fact(a, "contexts", tree->n - 1);
		tw_answer_table(a, "contexts", "Calling contexts, callees behind their caller", columns);
		error = print_tree(&p);
	}
	free(p.first);
	free(p.next);
	return error;
}

static int print_all(const struct state *s)
{
	struct tw_names *names = tw_context_names(s->context);
	struct tw_context_tree tree = {0};
	int error = names ? tw_context_tree(&s->tree, names, &tree) : TW_ERR_MEMORY;
	if (error)
		;
	else if (tw_context_flag(s->context, "folded"))
		error = tw_flame_folded(tw_answer_stream(tw_context_answer(s->context)), &tree);
	else if (tw_context_flag(s->context, "speedscope"))
		error = tw_flame_speedscope(tw_answer_stream(tw_context_answer(s->context)), &tree);
	else if (tw_context_flag(s->context, "svg"))
		error = tw_flame_svg(tw_answer_stream(tw_context_answer(s->context)), &tree);
	else
		error = print_text(s, &tree);
	tw_context_tree_free(&tree);
	return error;
}

/* By functions where there is much: nothing but the tree by names is wanted any more. */
static int settle_last(struct state *s)
{
	struct tw_names *names = s->tree.n_nodes > least_many_nodes(s) ? final_names(s) : NULL;
	const int error = names ? tw_contexts_unite(&s->tree, names) : 0;
	return error ? error : settle(s);
}

static int end(void *state, int error)
{
	struct state *s = state;
	error = error ? error : settle_last(s);
	struct tw_names *names = error || !s->out ? NULL : final_names(s);
	if (names)
		error = tw_context_tree(&s->tree, names, s->out);
	else if (!error)
		error = s->out ? TW_ERR_MEMORY : print_all(s);
	free_state(state);
	return error;
}

static const struct tw_option options[] = {
    {"least", TW_OPTION_NUMBER, "PERCENT", "1", "only contexts that executed, with what they called, so much of all"},
    {"folded", TW_OPTION_FLAG, NULL, NULL,
     "all contexts as lines for flame graphs: functions with semicolons between, and their own instructions"},
    {"speedscope", TW_OPTION_FLAG, NULL, NULL, "all contexts as JSON for speedscope.app"},
    {"svg", TW_OPTION_FLAG, NULL, NULL, "a flame graph as SVG"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_cct = {
    .name = "cct",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "calling-context tree: instructions and references; flame graphs",
    .help = "Inclusive are the instructions of a function in this context with those of all\n"
            "that it called from there, exclusive its own. Threads, signal handlers\n"
            "and what goes on after a gap in the recording are roots; a forked process goes\n"
            "on in its parent's calls. A jump from one function into another counts as a\n"
            "call; PLT stubs belong to their callers. What is inlined belongs to the\n"
            "function it is inlined into.\n",
    .options = options,
    .needs = TW_NEEDS_FLOW | TW_WANTS_CALL_ADDRESSES,
    .scope = TW_SCOPE_THREADS,
    .pack_version = 3,
    .pack = pack,
    .unpack = unpack,
};

/* ---- the tree alone ---- */

struct asked {
	const struct tw_context *context;
	struct tw_names *names;
	struct tw_context_tree *out;
};

static void *begin_asked(void *arg)
{
	const struct asked *asked = arg;
	struct state *s = begin((void *)asked->context);
	if (!s)
		return NULL;
	s->names = asked->names;
	s->out = asked->out;
	return s;
}

int tw_cct_run(const struct tw_context *context, const struct tw_replay_options *replay, struct tw_names *names, tw_hot_replay *run,
               void *run_context, struct tw_context_tree *out)
{
	struct tw_analyzer analyzer = tw_analyzer_cct;
	struct asked asked = {context, names, out};
	analyzer.begin = begin_asked;
	*out = (struct tw_context_tree){0};
	return run ? run(run_context, tw_context_recording(context), replay, &analyzer, &asked)
	           : tw_replay(tw_context_recording(context), replay, &analyzer, &asked);
}

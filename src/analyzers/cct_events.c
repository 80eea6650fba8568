/*
 * Effects of events on the calls that cct follows: signals, forks, gaps.
 */
#include "analyzers/cct_state.h"

/* A signal has come between a call or return and what that led to. */
static int end_block(struct tw_cct_state *s, uint64_t pc)
{
	uint64_t slot = s->stack.has_refs ? s->last_ref : 0;
	if (s->end == TW_END_CALL || s->end == TW_END_ICALL)
		return pc == s->back ? 0 : tw_cct_stack_call_out(&s->stack, tw_cct_last_block(s), slot, s->back);
	if (s->end == TW_END_RETURN)
		return s->stack.has_refs ? tw_cct_stack_return_out(&s->stack, slot) : tw_cct_stack_return_to(&s->stack, pc);
	return 0;
}

/* A handler is a start of its own; the keyframe after the event gives the address of its return address. */
static int take_signal(struct tw_cct_state *s, const struct tw_signal *signal)
{
	uint32_t entry = tw_contexts_block(&s->tree, s->program, s->thread, signal->handler);
	uint32_t at = tw_contexts_block(&s->tree, s->program, s->thread, signal->pc);
	int error = entry == TW_CONTEXT_NONE || at == TW_CONTEXT_NONE ? TW_ERR_MEMORY : 0;
	const int is_running = s->stack.n > 0 || s->stack.root != TW_CONTEXT_NONE;
	if (!error && s->stack.n && !tw_cct_is_beginning(s))
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

static void take_keyframe(struct tw_cct_state *s, const struct tw_keyframe *k)
{
	if (s->in_handler)
		s->stack.frames[s->stack.n - 1].slot = k->regs[TW_RSP];
	else if (tw_cct_is_beginning(s) && s->stack.has_refs)
		s->stack.first = k->regs[TW_RSP];
	s->in_handler = 0;
}

/* A process that starts was forked, unless it says that it starts a program. */
static int take_start(struct tw_cct_state *s, const struct tw_thread_start *t)
{
	const struct tw_context_root root = {.pid = t->pid, .before = TW_CONTEXT_NONE, .tsc = t->tsc, .parent_pid = t->parent_pid};
	return t->pid == t->tid && t->parent_pid != t->pid ? tw_cct_stack_inherit(&s->stack, &root) : 0;
}

static int take_fork(struct tw_cct_state *s, const struct tw_fork *fork)
{
	const uint64_t clone_thread = 0x10000;
	if (!fork->followed || (fork->flags & clone_thread))
		return 0;
	return tw_forks_add(s->forks, s->pid, fork->child_pid, fork->tsc, &s->tree, s->stack.frames, s->stack.n);
}

static void resume(struct tw_cct_state *s)
{
	tw_cct_forget(s);
	s->stack.is_resumed = 1;
}

int tw_cct_take_event(struct tw_cct_state *s, const struct tw_event *e)
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
		if (tw_cct_is_beginning(s))
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

#include "analyzers/cct_state.h"
#include "analyzers/contexts_join.h"

#include <stdlib.h>

struct tw_cct_state *tw_cct_new(const struct tw_context *c)
{
	struct tw_cct_state *s = calloc(1, sizeof *s);
	struct tw_forks *forks = tw_forks_take(c);
	if (!s || !forks) {
		free(s);
		tw_forks_leave(forks);
		return NULL;
	}
	s->context = c;
	s->forks = forks;
	s->stack.tree = &s->tree;
	s->stack.has_refs = tw_format_has_stack(tw_recording_info(tw_context_recording(c))->format);
	s->in_parts = (int)tw_recording_info(tw_context_recording(c))->instrumented;
	s->thread = s->pid = TW_CONTEXT_NONE;
	s->most_nodes = SIZE_MAX;
	tw_cct_forget(s);
	return s;
}

void tw_cct_free(struct tw_cct_state *s)
{
	if (!s)
		return;
	tw_cct_stack_free(&s->stack);
	tw_forks_leave(s->forks);
	tw_contexts_free(&s->tree);
	tw_segments_free(&s->segments);
	tw_cct_steps_free(&s->steps);
	tw_by_fragment_free(&s->fragments, free);
	free(s->begins);
	free(s);
}

void tw_cct_forget(struct tw_cct_state *s)
{
	tw_cct_stack_forget(&s->stack);
	s->last = TW_CONTEXT_NONE;
	s->segment = TW_SEGMENT_NONE;
	s->step = TW_CCT_STEP_NONE;
	s->in_handler = 0;
	s->was_out = 0;
}

static int has_ended(const struct tw_cct_state *s)
{
	return s->names || tw_recording_info(tw_context_recording(s->context))->complete;
}

size_t tw_cct_least_many_nodes(const struct tw_cct_state *s)
{
	return has_ended(s) ? 1 << 12 : 1 << 17;
}

int tw_cct_settle(struct tw_cct_state *s)
{
	int error = tw_cct_steps_settle(&s->steps, &s->segments, &s->tree);
	error = error ? error : tw_segments_settle(&s->segments, &s->tree);
	error = error ? error : tw_forks_resolve(s->forks, &s->tree);
	s->most_roots = 2 * s->tree.n_roots;
	return error;
}

int tw_cct_has_many_roots(const struct tw_cct_state *s)
{
	enum { MANY = 64 };
	return s->tree.n_roots > s->most_roots + MANY;
}

struct tw_names *tw_cct_names(const struct tw_cct_state *s)
{
	return s->names ? s->names : tw_context_names(s->context);
}

/* While the program runs, names come from what is known of it so far. */
static int join_nodes(struct tw_cct_state *s, uint32_t *node)
{
	const int are_last = has_ended(s);
	struct tw_names *names = are_last ? tw_cct_names(s) : tw_names_open(tw_context_recording(s->context), NULL);
	int error = names ? tw_contexts_join(&s->tree, names, are_last, node) : TW_ERR_MEMORY;
	if (!are_last)
		tw_names_close(names);
	return error;
}

int tw_cct_shrink(struct tw_cct_state *s)
{
	const size_t least = tw_cct_least_many_nodes(s);
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

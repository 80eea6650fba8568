#include "learn/context.h"
#include "base/array.h"
#include "recording/recording.h"

#include <stdlib.h>

void tw_context_stack_free(struct tw_context_stack *c)
{
	free(c->frames);
	*c = (struct tw_context_stack){0};
}

void tw_context_begin(struct tw_context_stack *c, int unknown)
{
	c->n = 0;
	c->base = unknown ? TW_NO_NUMBER : 0;
}

static uint32_t current(const struct tw_context_stack *c)
{
	return c->n ? c->frames[c->n - 1].context : c->base;
}

static int push(struct tw_context_stack *c, uint64_t back, uint32_t context)
{
	struct tw_context_frame *frames = tw_array_room(c->frames, c->n, &c->room, sizeof *frames);
	if (!frames)
		return tw_fail(TW_ERR_MEMORY, "contexts");
	c->frames = frames;
	frames[c->n++] = (struct tw_context_frame){back, context};
	return TW_OK;
}

/* The context of a call in this one; if the same call is already open, that call's context. 0: no memory. */
static uint32_t child_of(struct tw_seen_set *s, uint32_t parent, uint32_t image, uint64_t back)
{
	for (uint32_t k = parent; k; k = s->of[k - 1].parent)
		if (s->of[k - 1].from == back)
			return k;
	return tw_seen_number(s, &(struct tw_seen){TW_FACT_CONTEXT, image, parent, 0, back, 0});
}

static int open_call(struct tw_context_stack *c, struct tw_seen_set *s, uint32_t image, uint64_t back)
{
	const uint32_t parent = current(c), child = parent == TW_NO_NUMBER ? parent : child_of(s, parent, image, back);
	return child ? push(c, back, child) : tw_fail(TW_ERR_MEMORY, "contexts");
}

int tw_context_call(struct tw_context_stack *c, struct tw_seen_set *s, uint32_t image, uint64_t back, uint64_t entry)
{
	const int error = open_call(c, s, image, back);
	if (error || current(c) == TW_NO_NUMBER)
		return error;
	const struct tw_seen edge = {TW_FACT_CONTEXT_EDGE, image, current(c), 0, back, entry};
	return tw_seen_number(s, &edge) ? TW_OK : tw_fail(TW_ERR_MEMORY, "contexts");
}

int tw_context_set(struct tw_context_stack *c, struct tw_seen_set *s, uint32_t image, const uint64_t *back, size_t n)
{
	int error = TW_OK;
	tw_context_begin(c, 0);
	while (n-- > 0 && !error)
		error = open_call(c, s, image, back[n]);
	return error;
}

void tw_context_return(struct tw_context_stack *c, uint64_t to)
{
	size_t k = c->n;
	while (k && c->frames[k - 1].back != to)
		k--;
	if (k)
		c->n = k - 1;
	else if (!c->n || c->frames[c->n - 1].back) /* not the return of a handler */
		tw_context_begin(c, 1);
}

int tw_context_signal(struct tw_context_stack *c)
{
	return push(c, 0, 0);
}

void tw_context_sigreturn(struct tw_context_stack *c)
{
	size_t k = c->n;
	while (k && c->frames[k - 1].back)
		k--;
	if (k)
		c->n = k - 1;
	else
		tw_context_begin(c, 1);
}

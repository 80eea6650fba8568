#include "replay/together.h"

#include <stdlib.h>

struct all {
	const struct tw_together *members;
	size_t n;
};

/* A state of each. */
struct state {
	const struct all *all;
	void *of[];
};

static void *begin(void *arg)
{
	const struct all *all = arg;
	struct state *s = malloc(sizeof *s + all->n * sizeof s->of[0]);
	if (!s)
		return NULL;
	s->all = all;
	for (size_t i = 0; i < all->n; i++) {
		s->of[i] = all->members[i].analyzer->begin(all->members[i].arg);
		if (s->of[i])
			continue;
		while (i--)
			all->members[i].analyzer->end(s->of[i], TW_ERR_MEMORY);
		free(s);
		return NULL;
	}
	return s;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	int error = 0;
	for (size_t i = 0; i < s->all->n && !error; i++)
		error = s->all->members[i].analyzer->batch(s->of[i], b);
	return error;
}

/* Whatever happens, each frees the later one. */
static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int error = 0;
	for (size_t i = 0; i < s->all->n; i++) {
		int one = s->all->members[i].analyzer->merge(s->of[i], from->of[i]);
		error = error ? error : one;
	}
	free(from);
	return error;
}

static int end(void *state, int error)
{
	struct state *s = state;
	int result = 0;
	for (size_t i = 0; i < s->all->n; i++) {
		int one = s->all->members[i].analyzer->end(s->of[i], error);
		result = result ? result : one;
	}
	free(s);
	return result;
}

uint32_t tw_needs_together(uint32_t a, uint32_t b)
{
	const uint32_t none = TW_WANTS_NO_ADDRESSES, calls = TW_WANTS_CALL_ADDRESSES;
	const uint32_t wishes = (a & none ? none | calls : a) & (b & none ? none | calls : b);
	return ((a | b) & ~(none | calls | TW_WANTS_COUNTS | TW_WANTS_LINES)) | (wishes & none ? none : wishes & calls);
}

static uint32_t needs_of(const struct tw_together *members, size_t n)
{
	uint32_t needs = n ? members->analyzer->needs : 0;
	for (size_t i = 1; i < n; i++)
		needs = tw_needs_together(needs, members[i].analyzer->needs);
	return needs;
}

int tw_replay_together(const struct tw_recording *r, const struct tw_replay_options *options, const struct tw_together *members, size_t n)
{
	struct all all = {members, n};
	struct tw_analyzer together = {
	    .name = "together", .begin = begin, .batch = batch, .merge = merge, .end = end, .needs = needs_of(members, n)};
	for (size_t i = 0; i < n; i++)
		together.scope = together.scope > members[i].analyzer->scope ? together.scope : members[i].analyzer->scope;
	return tw_replay(r, options, &together, &all);
}

int tw_replay_beside(void *second, const struct tw_recording *r, const struct tw_replay_options *options,
                     const struct tw_analyzer *analyzer, void *arg)
{
	const struct tw_together members[] = {{analyzer, arg}, *(const struct tw_together *)second};
	return tw_replay_together(r, options, members, sizeof members / sizeof members[0]);
}

#include "analyze/beside.h"

#include <stdlib.h>

enum { BOTH = 2 };

struct pair {
	const struct tw_analyzer *analyzer[BOTH];
	void *arg[BOTH];
};

struct state {
	const struct pair *pair;
	void *state[BOTH];
};

static int end(void *state, int error)
{
	struct state *s = state;
	for (int i = 0; i < BOTH; i++) {
		int result = s->state[i] ? s->pair->analyzer[i]->end(s->state[i], error) : error;
		error = error ? error : result;
	}
	free(s);
	return error;
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->pair = arg;
	for (int i = 0; i < BOTH; i++) {
		s->state[i] = s->pair->analyzer[i]->begin(s->pair->arg[i]);
		if (!s->state[i]) {
			end(s, TW_ERR_MEMORY);
			return NULL;
		}
	}
	return s;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	int error = 0;
	for (int i = 0; i < BOTH && !error; i++)
		error = s->pair->analyzer[i]->batch(s->state[i], b);
	return error;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int error = 0;
	for (int i = 0; i < BOTH; i++) {
		int result = s->pair->analyzer[i]->merge(s->state[i], from->state[i]);
		error = error ? error : result;
	}
	free(from);
	return error;
}

int tw_beside_replay(void *second, const struct tw_recording *r, const struct tw_replay_options *options,
                     const struct tw_analyzer *analyzer, void *arg)
{
	const struct tw_beside *beside = second;
	struct pair pair = {{analyzer, beside->analyzer}, {arg, beside->arg}};
	const struct tw_analyzer both = {
	    .name = analyzer->name, .begin = begin, .batch = batch, .merge = merge, .end = end, .scope = analyzer->scope};
	return tw_replay(r, options, &both, &pair);
}

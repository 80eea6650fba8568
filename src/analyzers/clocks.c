#include "analyzers/clocks.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

static int make_room(struct tw_clocks *c, size_t n)
{
	if (n <= c->n)
		return 0;
	uint32_t *of = realloc(c->of, n * sizeof *of);
	if (!of)
		return TW_ERR_MEMORY;
	memset(of + c->n, 0, (n - c->n) * sizeof *of);
	c->of = of;
	c->n = n;
	return 0;
}

int tw_clocks_set(struct tw_clocks *c, size_t thread, uint32_t clock)
{
	int error = make_room(c, thread + 1);
	if (!error)
		c->of[thread] = clock;
	return error;
}

int tw_clocks_join(struct tw_clocks *to, const struct tw_clocks *from)
{
	int error = make_room(to, from->n);
	for (size_t i = 0; i < from->n && !error; i++)
		to->of[i] = from->of[i] > to->of[i] ? from->of[i] : to->of[i];
	return error;
}

int tw_clocks_know(const struct tw_clocks *of, const struct tw_clocks *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (from->of[i] > tw_clocks_get(of, i))
			return 0;
	return 1;
}

void tw_clocks_clear(struct tw_clocks *c)
{
	if (c->n)
		memset(c->of, 0, c->n * sizeof *c->of);
}

void tw_clocks_free(struct tw_clocks *c)
{
	free(c->of);
	memset(c, 0, sizeof *c);
}

#include "learn/ways.h"

#include <stdlib.h>
#include <string.h>

struct tw_way *tw_ways_of(struct tw_ways *w, uint32_t number)
{
	enum { FIRST = 1024 };
	if (number < w->n)
		return &w->of[number];
	const size_t n = 2 * (size_t)number + FIRST;
	struct tw_way *of = realloc(w->of, n * sizeof *of);
	if (!of)
		return NULL;
	memset(of + w->n, 0, (n - w->n) * sizeof *of);
	w->of = of;
	w->n = n;
	return &of[number];
}

void tw_ways_free(struct tw_ways *w)
{
	free(w->of);
}

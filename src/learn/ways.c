#include "learn/ways.h"
#include "base/array.h"

#include <stdlib.h>

struct tw_way *tw_ways_of(struct tw_ways *w, uint32_t number)
{
	struct tw_way *of = number < w->room ? w->of : tw_array_zeros(w->of, number, &w->room, sizeof *of);
	if (!of)
		return NULL;
	w->of = of;
	return &of[number];
}

void tw_ways_free(struct tw_ways *w)
{
	free(w->of);
}

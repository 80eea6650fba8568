#include "analyzers/kept.h"
#include "base/array.h"

#include <stdlib.h>

struct tw_kept_stretch *tw_kept_stretches_more(struct tw_kept_stretches *k, const struct tw_stretch *s)
{
	struct tw_kept_stretch *items = tw_array_zeros(k->items, s->number, &k->room, sizeof *items);
	if (!items)
		return NULL;
	k->items = items;
	return &items[s->number];
}

void tw_kept_stretches_free(struct tw_kept_stretches *k)
{
	free(k->items);
	*k = (struct tw_kept_stretches){0};
}

#include "analyzers/heard.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

enum { MOST_STEPS = 1 << 14 }; /* of one clock */

int tw_heard_init(struct tw_heard *l, size_t n)
{
	l->n = n;
	l->read_since = calloc(n + 1, sizeof *l->read_since);
	l->lists = calloc(n + 1, sizeof *l->lists);
	return l->read_since && l->lists ? 0 : TW_ERR_MEMORY;
}

void tw_heard_free(struct tw_heard *l)
{
	for (size_t i = 0; i < l->n && l->lists; i++)
		free(l->lists[i].steps);
	free(l->read_since);
	free(l->lists);
	memset(l, 0, sizeof *l);
}

/*
 * Two steps about the same other thread become one, which says that the earlier knew what the later does: too much
 * rather than too little.
 */
static int halve(struct tw_heard_list *list, size_t n_clocks)
{
	struct tw_heard_step **open = calloc(n_clocks, sizeof *open);
	size_t n = 0;
	if (!open)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < list->n; i++) {
		const struct tw_heard_step step = list->steps[i];
		if (open[step.other]) {
			open[step.other]->until = step.until;
			open[step.other] = NULL;
			continue;
		}
		list->steps[n] = step;
		open[step.other] = &list->steps[n++];
	}
	list->n = n;
	free(open);
	return 0;
}

static int add(struct tw_heard *l, size_t who, const struct tw_heard_step *step)
{
	struct tw_heard_list *list = &l->lists[who];
	if (list->n >= MOST_STEPS + l->n && halve(list, l->n))
		return TW_ERR_MEMORY;
	struct tw_heard_step *steps = tw_array_room(list->steps, list->n, &list->room, sizeof *steps);
	if (!steps)
		return TW_ERR_MEMORY;
	list->steps = steps;
	steps[list->n++] = *step;
	return 0;
}

int tw_heard_note(struct tw_heard *l, size_t who, uint32_t clock, const struct tw_clocks *clocks, const struct tw_clocks *from)
{
	int kept = 0;
	for (size_t i = 0; i < from->n && i < l->n; i++) {
		const uint32_t until = from->of[i];
		if (i == who || !l->read_since[i] || until + 1 < l->read_since[i] || until <= tw_clocks_get(clocks, i))
			continue;
		if (add(l, who, &(struct tw_heard_step){clock, (uint32_t)i, until}))
			return TW_ERR_MEMORY;
		kept = 1;
	}
	return kept;
}

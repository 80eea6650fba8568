#include "analyzers/spans.h"

#include <stdlib.h>
#include <trackway/recording.h>

int tw_spans_begin(struct tw_spans *s, size_t n_refs)
{
	const size_t room = n_refs + TW_SPANS_AT_ONCE;
	if (room <= s->room)
		return 0;
	uint8_t *of = realloc(s->of, 2 * room);
	if (!of)
		return TW_ERR_MEMORY;
	s->of = of;
	s->room = 2 * room;
	return 0;
}

void tw_spans_free(struct tw_spans *s)
{
	free(s->of);
	*s = (struct tw_spans){0};
}

uint8_t *tw_spans_make(const struct tw_stretch *stretch)
{
	uint8_t *spans = calloc(stretch->n_refs / TW_SPANS_AT_ONCE + 1u, TW_SPANS_AT_ONCE);
	if (spans)
		tw_spans_put_new(spans, stretch);
	return spans;
}

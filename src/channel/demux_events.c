/* The events of a chunk. */
#include "channel/demux.h"

#include <string.h>

static size_t event_bytes(const struct tw_event_header *h)
{
	return (sizeof *h + h->bytes + 7) & ~(size_t)7;
}

const struct tw_event_header *tw_demux_next_event(const struct tw_chunk *chunk, size_t *at)
{
	if (chunk->n_e - *at < sizeof(struct tw_event_header))
		return NULL;
	const struct tw_event_header *h = (const struct tw_event_header *)(chunk->e + *at);
	*at += event_bytes(h);
	return h;
}

void tw_demux_strip_refs(struct tw_chunk *chunk)
{
	size_t at = 0;
	uint8_t *to = chunk->e;
	uint16_t *c = chunk->c;
	for (size_t i = 0; i < chunk->n_c; i++) {
		uint16_t tag = *c++ = chunk->c[i];
		if (tag == TW_TAG_UPPER && i + 1 < chunk->n_c)
			*c++ = chunk->c[++i];
		const struct tw_event_header *h = tag == TW_TAG_EVENT ? tw_demux_next_event(chunk, &at) : NULL;
		if (!h)
			continue;
		if (h->type == TW_EVENT_REFS) {
			c--;
		} else {
			size_t n = event_bytes(h);
			memmove(to, h, n);
			to += n;
		}
	}
	chunk->n_c = (size_t)(c - chunk->c);
	chunk->n_e = (size_t)(to - chunk->e);
}

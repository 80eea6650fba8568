#include "analyzers/postponed.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

struct tw_part tw_part_of(const struct tw_batch *b)
{
	return (struct tw_part){
	    .blocks = tw_batch_blocks(b),
	    .refs = tw_batch_refs(b),
	    .events = b->events,
	    .n_blocks = b->n_blocks,
	    .n_refs = b->n_refs,
	    .n_events = b->n_events,
	};
}

static void free_part(struct tw_part *part)
{
	free((void *)part->blocks);
	free((void *)part->refs);
	free((void *)part->events);
}

static void *copy(const void *from, size_t bytes)
{
	void *to = malloc(bytes + !bytes);
	if (to && bytes)
		memcpy(to, from, bytes);
	return to;
}

/* Events, with their payloads behind them. */
static struct tw_event *copy_events(const struct tw_part *part)
{
	size_t bytes = part->n_events * sizeof(struct tw_event);
	for (size_t i = 0; i < part->n_events; i++)
		bytes += (part->events[i].bytes + 7u) & ~7u;
	struct tw_event *to = malloc(bytes + !bytes);
	uint8_t *payload = (uint8_t *)(to + part->n_events);
	for (size_t i = 0; i < part->n_events && to; i++) {
		to[i] = part->events[i];
		to[i].payload = payload;
		memcpy(payload, part->events[i].payload, part->events[i].bytes);
		payload += (part->events[i].bytes + 7u) & ~7u;
	}
	return to;
}

int tw_postponed_add(struct tw_postponed *p, const struct tw_part *part)
{
	struct tw_part *parts = tw_array_room(p->parts, p->n, &p->room, sizeof *parts);
	if (!parts)
		return TW_ERR_MEMORY;
	p->parts = parts;
	struct tw_part *to = &parts[p->n];
	*to = *part;
	to->blocks = copy(part->blocks, part->n_blocks * sizeof *part->blocks);
	to->refs = copy(part->refs, part->n_refs * sizeof *part->refs);
	to->events = copy_events(part);
	if (to->blocks && to->refs && to->events) {
		p->n++;
		return 0;
	}
	free_part(to);
	return TW_ERR_MEMORY;
}

struct tw_part *tw_postponed_first(struct tw_postponed *p)
{
	return p->first < p->n ? &p->parts[p->first] : NULL;
}

void tw_postponed_drop(struct tw_postponed *p)
{
	free_part(&p->parts[p->first++]);
	if (p->first == p->n)
		p->first = p->n = 0;
}

void tw_postponed_free(struct tw_postponed *p)
{
	while (tw_postponed_first(p))
		tw_postponed_drop(p);
	free(p->parts);
	memset(p, 0, sizeof *p);
}

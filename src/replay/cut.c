#include "replay/cut.h"
#include "replay/state.h"

#include <stdlib.h>

/* What of a batch its stretches tell. */
static void count(struct tw_batch *b)
{
	b->n_blocks = b->n_continued = b->n_refs = b->n_reads = b->n_writes = 0;
	b->n_insns = 0;
	for (size_t i = 0; i < b->n_stretches; i++) {
		const struct tw_stretch *s = b->stretches[i];
		b->n_blocks += s->n_blocks;
		b->n_refs += s->n_refs;
		for (uint32_t k = 0; k < s->n_blocks; k++) {
			b->n_insns += s->blocks[k].n_insns;
			b->n_continued += s->blocks[k].n_insns == 0;
		}
		for (uint32_t k = 0; k < s->n_refs; k++) {
			b->n_reads += (s->refs[k].type & TW_READ) != 0;
			b->n_writes += (s->refs[k].type & TW_WRITE) != 0;
		}
	}
}

/* Divides a stretch behind n of its blocks, of which it has more. */
static int cut_stretch(struct tw_batch_cut *c, const struct tw_stretch *s, uint32_t n)
{
	const uint32_t n_refs = s->blocks[n].first_ref, rest = s->n_blocks - n;
	c->blocks = malloc(rest * sizeof *c->blocks);
	if (!c->blocks)
		return TW_ERR_MEMORY;
	for (uint32_t i = 0; i < rest; i++) {
		c->blocks[i] = s->blocks[n + i];
		c->blocks[i].first_ref -= n_refs;
	}
	c->ends[0] = (struct tw_stretch){.blocks = s->blocks, .refs = s->refs, .n_blocks = n, .n_refs = n_refs};
	c->ends[1] = (struct tw_stretch){.blocks = c->blocks, .refs = s->refs + n_refs, .n_blocks = rest, .n_refs = s->n_refs - n_refs};
	return 0;
}

static int cut_stretches(struct tw_batch_cut *c, const struct tw_batch *b, size_t n_blocks)
{
	size_t whole = 0, n = n_blocks, at = 0;
	while (b->stretches[whole]->n_blocks <= n)
		n -= b->stretches[whole++]->n_blocks;
	const int error = n ? cut_stretch(c, b->stretches[whole], (uint32_t)n) : 0;
	c->stretches = malloc((b->n_stretches + 1) * sizeof(const struct tw_stretch *));
	if (error || !c->stretches)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < whole; i++)
		c->stretches[at++] = b->stretches[i];
	if (n)
		c->stretches[at++] = &c->ends[0];
	c->head.stretches = c->stretches;
	c->head.n_stretches = at;
	if (n)
		c->stretches[at++] = &c->ends[1];
	for (size_t i = whole + (n != 0); i < b->n_stretches; i++)
		c->stretches[at++] = b->stretches[i];
	c->tail.stretches = c->stretches + c->head.n_stretches;
	c->tail.n_stretches = at - c->head.n_stretches;
	return 0;
}

static int cut_events(struct tw_batch_cut *c, const struct tw_batch *b, size_t n_blocks)
{
	size_t n = 0;
	while (n < b->n_events && b->events[n].block < n_blocks)
		n++;
	c->head.n_events = n;
	c->tail.n_events = b->n_events - n;
	c->events = malloc((c->tail.n_events + 1) * sizeof *c->events);
	if (!c->events)
		return TW_ERR_MEMORY;
	for (size_t i = n; i < b->n_events; i++) {
		c->events[i - n] = b->events[i];
		c->events[i - n].block -= (uint32_t)n_blocks;
	}
	c->tail.events = c->events;
	return 0;
}

int tw_batch_cut(struct tw_batch_cut *c, const struct tw_batch *b, size_t n_blocks)
{
	*c = (struct tw_batch_cut){.head = *b, .tail = *b};
	if (cut_stretches(c, b, n_blocks) || cut_events(c, b, n_blocks)) {
		tw_batch_cut_free(c);
		return TW_ERR_MEMORY;
	}
	count(&c->head);
	count(&c->tail);
	c->head.continues = 0;
	c->tail.first_insn += c->head.n_insns;
	c->tail.first_block += c->head.n_blocks - c->head.n_continued;
	c->tail.first_ref += c->head.n_refs;
	c->tail.addr += c->head.n_refs;
	b->lists->has_blocks = b->lists->has_refs = 0;
	return 0;
}

const struct tw_batch *tw_batch_cut_tail(struct tw_batch_cut *c)
{
	c->tail.lists->has_blocks = c->tail.lists->has_refs = 0;
	return &c->tail;
}

void tw_batch_cut_free(struct tw_batch_cut *c)
{
	free(c->stretches);
	free(c->blocks);
	free(c->events);
	c->stretches = NULL;
	c->blocks = NULL;
	c->events = NULL;
}

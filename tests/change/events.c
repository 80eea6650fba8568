/* Changes events, and what runs in a chunk: tags and values, in step with each other. */
#include "events.h"
#include "base/channel.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/event.h>

/* ---- events ---- */

static size_t event_bytes(const struct tw_bytes *e, size_t at)
{
	struct tw_event_header h;
	size_t left = e->n - at;
	if (left < sizeof h)
		return left;
	memcpy(&h, e->at + at, sizeof h);
	size_t n = sizeof h + ((h.bytes + 7ull) & ~7ull);
	return n < left ? n : left;
}

static size_t any_event(const struct tw_bytes *e)
{
	size_t n = 0, at = 0;
	for (size_t i = 0; i < e->n; i += event_bytes(e, i))
		n++;
	for (n = below(n); n; n--)
		at += event_bytes(e, at);
	return at;
}

void change_events(struct tw_bytes *e)
{
	size_t at = any_event(e), n = e->n > at ? event_bytes(e, at) : 0;
	struct tw_event_header *h = (struct tw_event_header *)(void *)(e->at + at);
	if (n < sizeof *h)
		return;
	switch (below(8)) {
	case 0:
		replace(e, at, n, NULL, 0);
		break;
	case 1:
		replace(e, any_event(e), 0, e->at + at, n);
		break;
	case 2:
		h->type = (uint16_t)below(TW_NEVENTS + 1);
		break;
	case 3:
		twist(h, sizeof *h);
		break;
	case 4: /* a text without an end */
		memset(e->at + at + sizeof *h, 'x', n - sizeof *h);
		break;
	default:
		twist(e->at + at + sizeof *h, n - sizeof *h);
	}
	e->n -= e->n % 8;
}

/* ---- executions ---- */

/* What runs in a chunk; tags and values as bytes, so that replace() serves them. */
struct streams {
	const struct tw_recording *r;
	uint32_t upper; /* at the start */
	struct tw_bytes c, m;
};

/* A place in the streams: where an item of C begins, how many tags it takes, and its values. */
struct place {
	size_t c, n_c, m, n_m; /* in tags and values */
	uint32_t upper;        /* in force there */
};

static uint16_t tag_at(const struct streams *s, size_t i)
{
	uint16_t tag;
	memcpy(&tag, s->c.at + i * sizeof tag, sizeof tag);
	return tag;
}

static size_t values_of(const struct streams *s, uint32_t number)
{
	const struct tw_descriptor *d = tw_recording_descriptor(s->r, number);
	return d ? d->n_values : 0;
}

/* Makes *p the item behind it. 0: there is none. */
static int next_place(const struct streams *s, struct place *p)
{
	size_t n_tags = s->c.n / sizeof(uint16_t), n_values = s->m.n / sizeof(uint64_t);
	p->c += p->n_c;
	p->m += p->n_m;
	if (p->c >= n_tags)
		return 0;
	uint16_t tag = tag_at(s, p->c);
	p->n_c = tag == TW_TAG_UPPER && p->c + 1 < n_tags ? 2 : 1;
	p->n_m = tag >= TW_TAG_FIRST ? values_of(s, p->upper << 16 | tag) : 0;
	p->n_m = p->n_m < n_values - p->m ? p->n_m : n_values - p->m;
	if (p->n_c == 2)
		p->upper = tag_at(s, p->c + 1);
	return 1;
}

static struct place any_place(const struct streams *s)
{
	struct place p = {.upper = s->upper};
	size_t n = below(s->c.n / sizeof(uint16_t));
	while (next_place(s, &p) && p.c + p.n_c <= n)
		;
	return p;
}

/* Puts so many executions of a fragment there, with values of all kinds. */
static void insert_runs(struct streams *s, const struct place *p, const struct tw_descriptor *d, size_t runs)
{
	uint16_t tag = (uint16_t)d->number;
	for (; runs; runs--) {
		uint64_t values[8000];
		size_t n = sizeof *values * d->n_values;
		for (size_t i = 0; i < d->n_values; i++) {
			values[i] =
			    s->m.n >= sizeof *values ? *(uint64_t *)(void *)(s->m.at + below(s->m.n / sizeof *values) * sizeof *values) : 0;
			if (once_in(2))
				twist(&values[i], sizeof *values);
		}
		replace(&s->c, p->c * sizeof tag, 0, &tag, sizeof tag);
		replace(&s->m, p->m * sizeof *values, 0, values, n);
	}
}

/* A fragment whose number has this upper half, if one is met soon. */
static const struct tw_descriptor *any_fragment(const struct tw_recording *r, uint32_t upper)
{
	const struct tw_descriptor *d = NULL;
	for (int i = 0; i < 32; i++) {
		d = tw_recording_descriptor_at(r, below(tw_recording_n_descriptors(r)));
		if (d && d->number >> 16 == upper && (d->n_values || once_in(4)))
			return d;
	}
	return d && d->number >> 16 == upper ? d : NULL;
}

static void change_runs(struct streams *s)
{
	struct place p = any_place(s);
	size_t c = p.c * sizeof(uint16_t), m = p.m * sizeof(uint64_t);
	const struct tw_descriptor *d;
	uint16_t mark;
	if (!p.n_c)
		return;
	switch (below(12)) {
	case 0:
		replace(&s->c, c, p.n_c * sizeof(uint16_t), NULL, 0);
		replace(&s->m, m, p.n_m * sizeof(uint64_t), NULL, 0);
		break;
	case 1:
	case 2:
		if ((d = any_fragment(s->r, p.upper)))
			insert_runs(s, &p, d, 1 + below(once_in(8) ? 2000 : 3));
		break;
	case 3:
		mark = (uint16_t)(once_in(3) ? below(TW_TAG_FIRST + 2) : TW_TAG_EVENT);
		replace(&s->c, c, once_in(2) ? sizeof mark : 0, &mark, sizeof mark);
		break;
	case 4:
		if (s->m.n)
			twist(s->m.at, s->m.n);
		break;
	default:
		if (p.n_m)
			twist(s->m.at + m, p.n_m * sizeof(uint64_t));
	}
}

int change_executions(const struct tw_recording *r, const struct tw_chunk *chunk, struct tw_coded **out)
{
	static struct tw_encoder *encoder;
	struct streams s = {.r = r, .upper = chunk->upper};
	struct tw_chunk piece = *chunk;
	if (tw_bytes_append(&s.c, chunk->c, chunk->n_c * sizeof *chunk->c) ||
	    tw_bytes_append(&s.m, chunk->m, chunk->n_m * sizeof *chunk->m))
		die("memory");
	for (size_t n = 1 + below(4); n; n--)
		change_runs(&s);
	piece.c = (uint16_t *)(void *)s.c.at;
	piece.n_c = s.c.n / sizeof *piece.c;
	piece.m = (uint64_t *)(void *)s.m.at;
	piece.n_m = s.m.n / sizeof *piece.m;
	encoder = encoder ? encoder : tw_encoder_new(tw_recording_values(r), NULL);
	if (!encoder)
		die("memory");
	tw_encoder_begin(encoder, chunk->upper, TW_NO_THREAD);
	int error = tw_encoder_add(encoder, &piece);
	error = error ? error : tw_encoder_end(encoder);
	*out = tw_encoder_coded(encoder);
	free(s.c.at);
	free(s.m.at);
	return error;
}

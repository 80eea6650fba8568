/* Buffers that are only counted; everything except plain fragments is kept. */
#include "channel/demux_table.h"
#include "channel/demux_walk.h"

/* Records are taken at full speed while at least this much of the part is left. */
enum { MARGIN = TW_MAX_RECORD };

/* A buffer being counted. */
struct counting {
	struct tw_demux_walk walk;
	struct tw_demux_counter *counter;
	uint32_t upper;  /* that counter is of */
	int more;        /* 1: not at the end; 0; or an error */
	size_t n_c, n_m; /* what has been forgotten */
};

/* Stands the next record where count_plain could take it? */
static int is_plain(const struct counting *l)
{
	const struct tw_demux_walk *w = &l->walk;
	return !w->has_partial && w->end - w->p >= MARGIN && l->counter && l->counter[tw_get16(w->p)].record;
}

/* Nobody reads the tags taken so far, and they would take much memory. The first ones stay, so that later ones are never the first. */
static void forget(struct counting *l)
{
	enum { MANY = 4096 };
	struct tw_demux_walk *w = &l->walk;
	const size_t n_c = (size_t)(w->c - w->chunk->c), n_m = (size_t)(w->m - w->chunk->m);
	if (n_c > MANY) {
		l->n_c += n_c - 1;
		w->c = w->chunk->c + 1;
	}
	if (n_m > MANY) {
		l->n_m += n_m;
		w->m = w->chunk->m;
	}
}

/* Takes what is not plain, and follows the upper half. */
static void count_other(struct tw_demux *d, struct counting *l)
{
	if (l->counter && l->upper != l->walk.upper)
		tw_demux_set_upper(&l->walk, l->upper);
	while (l->more > 0 && !is_plain(l)) {
		l->more = l->walk.end - l->walk.p < 2 ? 0 : tw_demux_walk_other(&l->walk);
		forget(l);
		if (l->walk.upper == l->upper || l->more <= 0)
			continue;
		l->upper = l->walk.upper;
		l->counter = l->walk.row == d->no_row ? NULL : tw_demux_counters(d, l->walk.upper);
	}
}

static void empty_full(struct tw_demux *d, const struct counting *l, struct tw_demux_counter *n)
{
	if (n->ran[0] >= SUM_FULL || n->ran[1] >= SUM_FULL || n->ran[2] >= SUM_FULL)
		tw_demux_empty_counter(&d->tally, &tw_demux_row(d, l->upper)[n - l->counter], n);
}

/*
 * Skips an UPPER record, the most common one that is not plain. Returns 0 if something else is there, or it is the
 * first with this upper half.
 */
static inline int take_upper(struct tw_demux *d, struct counting *l, const uint8_t **p)
{
	uint32_t upper = tw_get16(*p + 2);
	struct tw_demux_counter *counter = tw_get16(*p) == TW_TAG_UPPER ? tw_numbered_row(&d->counters, upper) : NULL;
	if (!counter)
		return 0;
	l->upper = upper;
	l->counter = counter;
	d->tally.raw[TW_STREAM_C] += 4;
	*p += 4;
	return 1;
}

/* Four numbers side by side, if their records consist only of that: then none has to wait until the end of the previous one is known. */
static inline int take_four(struct tw_demux *d, const struct counting *l, const uint8_t *p)
{
	struct tw_demux_counter *n = l->counter;
	struct tw_demux_counter *n0 = &n[tw_get16(p)], *n1 = &n[tw_get16(p + 2)], *n2 = &n[tw_get16(p + 4)], *n3 = &n[tw_get16(p + 6)];
	unsigned r0 = n0->record, r1 = n1->record, r2 = n2->record, r3 = n3->record;
	if (__builtin_expect((r0 ^ NUMBER_BYTES) | (r1 ^ NUMBER_BYTES) | (r2 ^ NUMBER_BYTES) | (r3 ^ NUMBER_BYTES), 0))
		return 0;
	unsigned sums = ++n0->ran[0];
	sums |= ++n1->ran[1];
	sums |= ++n2->ran[2];
	sums |= ++n3->ran[0];
	if (__builtin_expect(sums >= SUM_FULL, 0)) {
		empty_full(d, l, n0);
		empty_full(d, l, n1);
		empty_full(d, l, n2);
		empty_full(d, l, n3);
	}
	return 1;
}

/* Takes plain fragments as long as they come. */
static void count_plain(struct tw_demux *d, struct counting *l)
{
	const uint8_t *p = l->walk.p, *end = l->walk.end - MARGIN;
	while (p <= end) {
		if (take_four(d, l, p)) {
			p += 4 * NUMBER_BYTES;
			continue;
		}
		struct tw_demux_counter *n = &l->counter[tw_get16(p)];
		if (n->record) {
			p += n->record;
			if (++n->ran[0] >= SUM_FULL)
				empty_full(d, l, n);
		} else if (!take_upper(d, l, &p)) {
			break;
		}
	}
	l->walk.p = p;
}

int tw_demux_count(struct tw_demux *d, const struct tw_demux_input *in, struct tw_chunk *chunk)
{
	struct counting l = {.upper = UINT32_MAX, .more = 1};
	tw_demux_walk_begin(&l.walk, d, in, chunk);
	while (l.more > 0) {
		count_other(d, &l);
		if (l.more > 0)
			count_plain(d, &l);
	}
	tw_demux_walk_end(&l.walk, chunk);
	chunk->n_c += l.n_c;
	chunk->n_m += l.n_m;
	return l.more < 0 ? l.more : TW_OK;
}

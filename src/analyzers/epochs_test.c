/* The first race of a random history, compared with an exhaustive comparison of all accesses; what is seen; and forgotten memory. */
#include "analyzers/epochs.h"
#include "unit.h"

#include <stdlib.h>
#include <trackway/recording.h>

enum { THREADS = 4, BYTES = 2 * TW_EPOCH_LINE, ACCESSES = 200, BASE = 0x10000 };

static unsigned seed = 1;

static unsigned next(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

struct access {
	unsigned thread, clock, from, to;
	int flags;
};

struct history {
	struct access all[ACCESSES];
	size_t n;
	struct tw_clocks of[THREADS], lock;
	unsigned clock[THREADS];
	struct tw_epoch shadow;
};

static int races_with(const struct history *h, const struct access *o, const struct access *a)
{
	return o->thread != a->thread && o->clock > tw_clocks_get(&h->of[a->thread], o->thread) && o->from < a->to && a->from < o->to &&
	       ((o->flags | a->flags) & TW_EPOCH_WRITE) && !(o->flags & a->flags & TW_EPOCH_ATOMIC);
}

static int any_race(const struct history *h, const struct access *a)
{
	for (size_t i = 0; i < h->n; i++)
		if (races_with(h, &h->all[i], a))
			return 1;
	return 0;
}

static int note(void *context, const struct tw_epoch_access *earlier, const struct tw_epoch_access *later)
{
	CHECK(earlier->mask & later->mask);
	*(int *)context = 1;
	return 0;
}

/* Adds it line by line. Was there a race? */
static int add(struct history *h, const struct access *a)
{
	struct tw_epoch_page *p = tw_epoch_page(&h->shadow, 0, BASE);
	int raced = 0;
	for (unsigned line = a->from / TW_EPOCH_LINE; line * TW_EPOCH_LINE < a->to; line++) {
		struct tw_epoch_access e = {
		    .pc = next(5), .thread = a->thread, .clock = a->clock, .path = next(2), .flags = (uint8_t)a->flags};
		struct tw_epoch_seen seen;
		for (unsigned i = 0; i < TW_EPOCH_LINE; i++)
			if (line * TW_EPOCH_LINE + i >= a->from && line * TW_EPOCH_LINE + i < a->to)
				e.mask |= 1ull << i;
		EQUAL(tw_epoch_add(&h->shadow, &p->lines[line], &e, &h->of[a->thread], &seen, note, &raced), 0);
		CHECK(!(e.mask & ~(a->flags & TW_EPOCH_WRITE ? seen.written : seen.read)));
	}
	return raced;
}

/* A thread gives the lock back. */
static void release(struct history *h, unsigned t)
{
	tw_clocks_set(&h->of[t], t, h->clock[t]);
	tw_clocks_join(&h->lock, &h->of[t]);
	h->clock[t]++;
}

/* To the first race, or to the end. */
static size_t run(struct history *h)
{
	for (unsigned t = 0; t < THREADS; t++)
		h->clock[t] = 1;
	while (h->n < ACCESSES) {
		const unsigned t = next(THREADS), from = next(BYTES - 16), bytes = 1 + next(16);
		struct access a = {t, 0, from, from + bytes, next(3) ? 0 : TW_EPOCH_WRITE};
		a.flags |= next(8) ? 0 : TW_EPOCH_ATOMIC;
		if (next(200))
			tw_clocks_join(&h->of[t], &h->lock);
		a.clock = h->clock[t];
		const int expected = any_race(h, &a);
		EQUAL(add(h, &a), expected);
		h->all[h->n++] = a;
		if (expected)
			break;
		if (next(200))
			release(h, t);
	}
	return h->n;
}

static void compare(void)
{
	enum { HISTORIES = 400 };
	size_t accesses = 0;
	for (int i = 0; i < HISTORIES; i++) {
		struct history h = {0};
		accesses += run(&h);
		for (unsigned t = 0; t < THREADS; t++)
			tw_clocks_free(&h.of[t]);
		tw_clocks_free(&h.lock);
		tw_epoch_free(&h.shadow);
	}
	CHECK(accesses > 20 * HISTORIES); /* it is not all races at once */
}

/*
 * What one instruction accesses in an epoch is one access; another thread's writes to it are reported, but not those
 * to other memory in its place.
 */
static void forget(void)
{
	struct tw_epoch s = {0};
	struct tw_clocks none = {0};
	struct tw_epoch_seen seen;
	struct tw_epoch_line *l = &tw_epoch_page(&s, 3, BASE)->lines[0];
	struct tw_epoch_access a = {.pc = 1, .clock = 1, .flags = TW_EPOCH_WRITE};
	int raced = 0;
	for (unsigned i = 0; i < TW_EPOCH_LINE; i += 8) {
		a.mask = 0xffull << i;
		EQUAL(tw_epoch_add(&s, l, &a, &none, &seen, note, &raced), 0);
	}
	EQUAL(l->n, 1);
	l->atomic = l->waited = ~0ull;
	tw_epoch_forget(&s, 2, BASE, BASE + 4096);
	tw_epoch_forget(&s, 3, BASE + 8, BASE + 16);
	EQUAL(l->atomic, ~0xff00ull);
	EQUAL(l->waited, ~0xff00ull);
	a.thread = 1;
	a.mask = 0xff00;
	EQUAL(tw_epoch_add(&s, l, &a, &none, &seen, note, &raced), 0);
	EQUAL(raced, 0);
	a.mask = 0xff0000;
	EQUAL(tw_epoch_add(&s, l, &a, &none, &seen, note, &raced), 0);
	EQUAL(raced, 1);
	tw_epoch_forget(&s, 3, 0, UINT64_MAX);
	EQUAL(l->n, 0);
	tw_epoch_free(&s);
	tw_clocks_free(&none);
}

int main(void)
{
	compare();
	forget();
	return UNIT_END();
}

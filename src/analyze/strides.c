#include "analyze/strides.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum { CANDIDATES = 4, LINE_SHIFT = 6, PAGE_SHIFT = 12 };

/* Lines of one page that were referenced, as a mask. */
struct page {
	uint64_t number; /* + 1; 0: none */
	uint64_t lines;
};

struct pages {
	struct page *items;
	size_t n, room; /* room: a power of 2 */
};

/* One instruction, while it is looked at. */
struct track {
	struct tw_stride *out;
	struct pages pages;
	uint64_t last;
	uint32_t thread, has_last;
	int64_t stride[CANDIDATES];
	uint64_t count[CANDIDATES];
};

/* The only state: strides are of references in order. */
struct state {
	struct track *tracks;
	struct tw_stride *items;
	size_t n;
	int error;
};

static struct page *find_page(struct pages *p, uint64_t number)
{
	size_t i = (number * 0x9e3779b97f4a7c15ull >> 20) & (p->room - 1);
	while (p->items[i].number && p->items[i].number != number)
		i = (i + 1) & (p->room - 1);
	return &p->items[i];
}

static int grow(struct pages *p)
{
	struct pages bigger = {.n = p->n, .room = p->room ? 2 * p->room : 64};
	bigger.items = calloc(bigger.room, sizeof *bigger.items);
	if (!bigger.items)
		return 0;
	for (size_t i = 0; i < p->room; i++)
		if (p->items[i].number)
			*find_page(&bigger, p->items[i].number) = p->items[i];
	free(p->items);
	*p = bigger;
	return 1;
}

static int note_line(struct pages *p, uint64_t line)
{
	if (2 * p->n >= p->room && !grow(p))
		return 0;
	struct page *page = find_page(p, (line >> (PAGE_SHIFT - LINE_SHIFT)) + 1);
	p->n += !page->number;
	page->number = (line >> (PAGE_SHIFT - LINE_SHIFT)) + 1;
	page->lines |= 1ull << (line & 63);
	return 1;
}

static void note_stride(struct track *t, int64_t stride)
{
	int free_one = -1;
	for (int i = 0; i < CANDIDATES; i++) {
		if (t->count[i] && t->stride[i] == stride) {
			t->count[i]++;
			return;
		}
		if (!t->count[i])
			free_one = i;
	}
	if (free_one >= 0) {
		t->stride[free_one] = stride;
		t->count[free_one] = 1;
		return;
	}
	for (int i = 0; i < CANDIDATES; i++)
		t->count[i]--;
}

static int note_ref(struct track *t, uint32_t thread, const struct tw_ref *ref)
{
	uint64_t first = ref->addr >> LINE_SHIFT, last = (ref->addr + (ref->size ? ref->size - 1 : 0)) >> LINE_SHIFT;
	t->out->refs++;
	t->out->bytes += ref->size;
	if (t->has_last && t->thread == thread)
		note_stride(t, (int64_t)(ref->addr - t->last));
	t->last = ref->addr;
	t->thread = thread;
	t->has_last = 1;
	int ok = 1;
	for (uint64_t line = first; ok && line <= last; line++)
		ok = note_line(&t->pages, line);
	return ok;
}

static void *begin(void *arg)
{
	return arg;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	const struct tw_ref *refs = tw_batch_refs(b);
	for (size_t i = 0; i < b->n_refs; i++) {
		size_t at = tw_array_before(&refs[i].pc, s->items, s->n, sizeof *s->items, tw_by_number);
		if (at < s->n && s->items[at].pc == refs[i].pc && !note_ref(&s->tracks[at], b->thread, &refs[i]))
			return TW_ERR_MEMORY;
	}
	return 0;
}

static int merge(void *state, void *later)
{
	(void)state;
	(void)later;
	return 0; /* there is one state only */
}

static int end(void *state, int error)
{
	(void)state;
	return error;
}

static void conclude(struct track *t)
{
	for (size_t i = 0; i < t->pages.room; i++)
		t->out->lines += (uint64_t)__builtin_popcountll(t->pages.items[i].lines);
	for (int i = 0; i < CANDIDATES; i++) {
		if (t->count[i] <= t->out->strode)
			continue;
		t->out->stride = t->stride[i];
		t->out->strode = t->count[i];
	}
	free(t->pages.items);
}

int tw_strides(const struct tw_recording *r, const struct tw_replay_options *replay, struct tw_stride *items, size_t n)
{
	static const struct tw_analyzer strides = {.name = "strides", .begin = begin, .batch = batch, .merge = merge, .end = end};
	struct state s = {.tracks = calloc(n + 1, sizeof *s.tracks), .items = items, .n = n};
	struct tw_replay_options one = *replay;
	if (!s.tracks)
		return TW_ERR_MEMORY;
	for (size_t i = 0; i < n; i++)
		s.tracks[i].out = &items[i];
	one.jobs = 1;
	one.grain = 0;
	int error = tw_replay(r, &one, &strides, &s);
	for (size_t i = 0; i < n; i++)
		conclude(&s.tracks[i]);
	free(s.tracks);
	return error;
}

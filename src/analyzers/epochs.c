#include "analyzers/epochs.h"
#include "analyzers/pages.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

enum { PAGE = TW_EPOCH_PAGE };

/* ---- pages ---- */

static size_t place_of(const struct tw_epoch *s, uint64_t key)
{
	size_t i = (size_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (s->room - 1);
	while (s->pages[i] && s->pages[i]->key != key)
		i = (i + 1) & (s->room - 1);
	return i;
}

static int grow(struct tw_epoch *s)
{
	enum { FIRST = 256 };
	struct tw_epoch more = {.room = s->room ? 2 * s->room : FIRST};
	more.pages = calloc(more.room, sizeof(struct tw_epoch_page *));
	if (!more.pages)
		return 0;
	for (size_t i = 0; i < s->room; i++)
		if (s->pages[i])
			more.pages[place_of(&more, s->pages[i]->key)] = s->pages[i];
	free(s->pages);
	s->pages = more.pages;
	s->room = more.room;
	return 1;
}

static struct tw_epoch_page *find_page(const struct tw_epoch *s, uint64_t key)
{
	return s->room ? s->pages[place_of(s, key)] : NULL;
}

/* Makes room for more pages: the more there are the more at once. */
static int make_slab(struct tw_epoch *s)
{
	enum { LEAST = 4, MOST = 256, ALIGNMENT = _Alignof(struct tw_epoch_page) };
	const size_t n = s->n < LEAST ? LEAST : s->n < MOST ? s->n : MOST;
	void **slabs = tw_array_room(s->slabs, s->n_slabs, &s->slabs_room, sizeof *slabs);
	if (!slabs)
		return 0;
	s->slabs = slabs;
	void *slab = tw_array_table(n * sizeof(struct tw_epoch_page) + ALIGNMENT, 1);
	if (!slab)
		return 0;
	slabs[s->n_slabs++] = slab;
	s->free = (void *)(((uintptr_t)slab + ALIGNMENT - 1) & -(uintptr_t)ALIGNMENT);
	s->n_free = n;
	return 1;
}

static struct tw_epoch_page *make_page(struct tw_epoch *s, uint64_t key)
{
	struct tw_epoch_page *p = find_page(s, key);
	if (p || (2 * s->n >= s->room && !grow(s)) || (!s->n_free && !make_slab(s)))
		return p;
	p = s->free++;
	s->n_free--;
	p->key = key;
	s->pages[place_of(s, key)] = p;
	s->n++;
	return p;
}

struct tw_epoch_page *tw_epoch_page(struct tw_epoch *s, uint32_t program, uint64_t addr)
{
	const uint64_t key = tw_page_key(program, addr);
	const size_t r = key % (sizeof s->recent / sizeof s->recent[0]);
	if (s->recent[r].key != key || !s->recent[r].page) {
		s->recent[r].page = make_page(s, key);
		s->recent[r].key = key;
	}
	return s->recent[r].page;
}

struct tw_epoch_word *tw_epoch_word(struct tw_epoch *s, uint32_t program, uint64_t addr)
{
	struct tw_epoch_page *page = tw_epoch_page(s, program, addr);
	return page ? &page->words[addr % PAGE / 8] : NULL;
}

void tw_epoch_see(struct tw_epoch_seen *seen, uint64_t epoch, uint32_t locks, uint64_t addr, uint32_t size, int write)
{
	const uint64_t bits = ~0ull >> (64 - size) << addr % 64;
	if (seen->epoch != epoch || seen->locks != locks) {
		memset(seen, 0, sizeof *seen);
		seen->epoch = epoch;
		seen->locks = locks;
	}
	seen->read[addr % PAGE / 64] |= bits;
	if (write)
		seen->written[addr % PAGE / 64] |= bits;
}

/* ---- accesses ---- */

static struct tw_epoch_access *at(struct tw_epoch_word *w, unsigned i)
{
	return i < TW_EPOCH_OWN ? &w->own[i] : &w->more[i - TW_EPOCH_OWN];
}

static int append(struct tw_epoch_word *w, const struct tw_epoch_access *a)
{
	if (w->n >= TW_EPOCH_OWN + w->room) {
		const uint8_t room = (uint8_t)(w->room ? w->room < 100 ? 2 * w->room : 250 : 2);
		struct tw_epoch_access *more = w->n < 250 ? realloc(w->more, room * sizeof *more) : NULL;
		if (!more)
			return w->n >= 250 ? 0 : TW_ERR_MEMORY; /* of so many threads the first ones do */
		w->more = more;
		w->room = room;
	}
	*at(w, w->n++) = *a;
	return 0;
}

/* Is `o` one that `a` stands for from now on, for the bytes they have in common? `known`: o happened before a. */
static int stands_for(const struct tw_epoch_access *a, const struct tw_epoch_access *o, int known)
{
	if (!known || (a->locks && a->locks != o->locks) || ((a->flags & TW_EPOCH_ATOMIC) && !(o->flags & TW_EPOCH_ATOMIC)))
		return 0;
	return (a->flags & TW_EPOCH_WRITE) || !(o->flags & TW_EPOCH_WRITE);
}

/* Does o, of the same epoch, say all that a would? */
static int covers(const struct tw_epoch_access *o, const struct tw_epoch_access *a)
{
	return o->thread == a->thread && o->clock == a->clock && o->locks == a->locks && !(a->mask & ~o->mask) &&
	       !((a->flags ^ o->flags) & TW_EPOCH_ATOMIC) && !(a->flags & ~o->flags & TW_EPOCH_WRITE);
}

static int conflicts(const struct tw_epoch_access *a, const struct tw_epoch_access *o)
{
	return ((a->flags | o->flags) & TW_EPOCH_WRITE) && !(a->flags & o->flags & TW_EPOCH_ATOMIC);
}

static int is_known(const struct tw_epoch_access *o, const struct tw_epoch_access *a, const struct tw_clocks *clocks)
{
	return o->thread == a->thread || o->clock <= tw_clocks_get(clocks, o->thread);
}

/* The access takes the place of an older one of the thread that it stands for, and changes nothing else: most do. */
static int takes_place(struct tw_epoch_word *w, const struct tw_epoch_access *a, const struct tw_clocks *clocks)
{
	struct tw_epoch_access *mine = NULL;
	const int writes = a->flags & TW_EPOCH_WRITE;
	for (unsigned i = 0; i < w->n; i++) {
		struct tw_epoch_access *o = at(w, i);
		if (o->thread == a->thread && o->mask == a->mask && o->locks == a->locks && o->flags == a->flags)
			mine = o;
		else if (writes || ((o->flags & TW_EPOCH_WRITE) && !is_known(o, a, clocks)))
			return 0;
	}
	if (mine)
		*mine = *a;
	return mine != NULL;
}

/* Was all that is there made by the thread, some of it by the same instruction in the same epoch? Then that has these bytes, too. */
static int joins_own(struct tw_epoch_word *w, const struct tw_epoch_access *a)
{
	struct tw_epoch_access *same = NULL;
	for (unsigned i = 0; i < w->n; i++) {
		struct tw_epoch_access *o = at(w, i);
		if (o->thread != a->thread)
			return 0;
		if (o->pc == a->pc && o->clock == a->clock && o->path == a->path && o->locks == a->locks && o->flags == a->flags)
			same = o;
	}
	if (same)
		same->mask |= a->mask;
	return same != NULL;
}

int tw_epoch_add(struct tw_epoch_word *w, const struct tw_epoch_access *a, const struct tw_clocks *clocks,
                 int (*race)(void *context, const struct tw_epoch_access *earlier, const struct tw_epoch_access *later), void *context)
{
	unsigned n = 0;
	int result = 0;
	if (takes_place(w, a, clocks) || joins_own(w, a))
		return 0;
	for (unsigned i = 0; i < w->n; i++)
		if (covers(at(w, i), a))
			return 0;
	for (unsigned i = 0; i < w->n; i++) {
		struct tw_epoch_access *o = at(w, i);
		const int common = o->mask & a->mask, known = is_known(o, a, clocks);
		if (common && !known && !result && conflicts(a, o))
			result = race(context, o, a);
		if (common && stands_for(a, o, known))
			o->mask &= (uint8_t)~a->mask;
		if (o->mask)
			*at(w, n++) = *o;
	}
	w->n = (uint8_t)n;
	return result ? result : append(w, a);
}

/* What of the page lies in [start, end). */
static void forget_page(struct tw_epoch_page *p, uint64_t start, uint64_t end)
{
	const uint64_t first = tw_page_address(p->key), from = start > first ? start - first : 0;
	for (unsigned i = 0; i < TW_EPOCH_SEERS; i++)
		p->seen[i].epoch = 0;
	for (uint64_t at = from & ~7ull; at < PAGE && first + at < end; at += 8) {
		free(p->words[at / 8].more);
		memset(&p->words[at / 8], 0, sizeof p->words[at / 8]);
	}
}

static int lies_in(const struct tw_epoch_page *p, uint32_t program, uint64_t start, uint64_t end)
{
	const uint64_t first = tw_page_address(p->key);
	return tw_page_process(p->key) == program && first < end && first + PAGE > start;
}

void tw_epoch_forget(struct tw_epoch *s, uint32_t program, uint64_t start, uint64_t end)
{
	const uint64_t n = (end - (start & ~(uint64_t)(PAGE - 1)) + PAGE - 1) / PAGE;
	if (n > s->n) {
		for (size_t i = 0; i < s->room; i++)
			if (s->pages[i] && lies_in(s->pages[i], program, start, end))
				forget_page(s->pages[i], start, end);
		return;
	}
	for (uint64_t at = start & ~(uint64_t)(PAGE - 1); at < end; at += PAGE) {
		struct tw_epoch_page *p = find_page(s, tw_page_key(program, at));
		if (p)
			forget_page(p, start, end);
	}
}

void tw_epoch_free(struct tw_epoch *s)
{
	for (size_t i = 0; i < s->room; i++)
		for (size_t k = 0; s->pages[i] && k < TW_EPOCH_WORDS; k++)
			free(s->pages[i]->words[k].more);
	for (size_t i = 0; i < s->n_slabs; i++)
		free(s->slabs[i]);
	free(s->slabs);
	free(s->pages);
	memset(s, 0, sizeof *s);
}

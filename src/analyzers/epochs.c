#include "analyzers/epochs.h"
#include "analyzers/pages.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/recording.h>

enum { PAGE = TW_EPOCH_PAGE };

/* ---- slabs ---- */

/* Memory of this many bytes that is freed with all others of the list; `many`: instead at least one whole huge page. NULL: no memory. */
static void *add_slab(void ***list, size_t *n, size_t *room, int many, size_t *bytes)
{
	void **slabs = tw_array_room(*list, *n, room, sizeof *slabs);
	if (!slabs)
		return NULL;
	*list = slabs;
	*bytes = many ? 1 : *bytes;
	void *slab = many ? tw_array_huge(bytes) : malloc(*bytes);
	if (slab)
		slabs[(*n)++] = slab;
	return slab;
}

static void free_slabs(void **slabs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(slabs[i]);
	free(slabs);
}

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

/* Makes room for more pages: the more exist, the more at once. */
static int make_slab(struct tw_epoch *s)
{
	enum { LEAST = 4, MANY = 256, ALIGNMENT = _Alignof(struct tw_epoch_page) };
	size_t n = s->n < LEAST ? LEAST : s->n, bytes = n * sizeof(struct tw_epoch_page) + ALIGNMENT;
	void *slab = add_slab(&s->slabs, &s->n_slabs, &s->slabs_room, n >= MANY, &bytes);
	if (!slab)
		return 0;
	s->free = (void *)(((uintptr_t)slab + ALIGNMENT - 1) & -(uintptr_t)ALIGNMENT);
	s->n_free = (bytes - ALIGNMENT) / sizeof(struct tw_epoch_page);
	memset(s->free, 0, s->n_free * sizeof *s->free);
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

/* ---- accesses ---- */

/* A line with more accesses than this keeps only those of the same number of threads as the first ones. */
enum { MOST = 2000 };

static struct tw_epoch_access *at(struct tw_epoch_line *l, unsigned i)
{
	return i ? &l->more[i - 1] : &l->first;
}

static struct tw_epoch_access *take_new(struct tw_epoch_rooms *r, size_t n)
{
	enum { FEW = 1024, MANY = 16 };
	if (n > r->left) {
		size_t bytes = (n > FEW ? n : FEW) * sizeof *r->next;
		void *slab = add_slab(&r->slabs, &r->n, &r->room, r->n >= MANY, &bytes);
		if (!slab)
			return NULL;
		r->next = slab;
		r->left = bytes / sizeof *r->next;
	}
	struct tw_epoch_access *at = r->next;
	r->next += n;
	r->left -= n;
	return at;
}

/* Room for 2 << i accesses. */
static struct tw_epoch_access *take_room(struct tw_epoch_rooms *r, unsigned i)
{
	struct tw_epoch_access *at = r->unused[i];
	if (!at)
		return take_new(r, 2u << i);
	memcpy(&r->unused[i], at, sizeof(uintptr_t));
	return at;
}

static void give_room(struct tw_epoch_rooms *r, struct tw_epoch_access *at, unsigned i)
{
	memcpy(at, &r->unused[i], sizeof(uintptr_t));
	r->unused[i] = at;
}

/* Doubles the room for accesses after the first. 0 or TW_ERR_MEMORY. */
static int double_room(struct tw_epoch *s, struct tw_epoch_line *l)
{
	const unsigned i = l->room ? (unsigned)__builtin_ctz(l->room) : 0; /* of the new one */
	struct tw_epoch_access *more = take_room(&s->rooms, i);
	if (!more)
		return TW_ERR_MEMORY;
	if (l->room) {
		memcpy(more, l->more, l->room * sizeof *more);
		give_room(&s->rooms, l->more, i - 1);
	}
	l->more = more;
	l->room = (uint16_t)(2u << i);
	return 0;
}

static int append(struct tw_epoch *s, struct tw_epoch_line *l, const struct tw_epoch_access *a)
{
	if (l->n > l->room) {
		if (l->n >= MOST)
			return 0;
		int error = double_room(s, l);
		if (error)
			return error;
	}
	*at(l, l->n++) = *a;
	return 0;
}

/* Does `a` subsume `o` from now on, for the bytes they have in common? `known`: o happened before a. */
static int stands_for(const struct tw_epoch_access *a, const struct tw_epoch_access *o, int known)
{
	if (!known || (a->locks && a->locks != o->locks) || ((a->flags & TW_EPOCH_ATOMIC) && !(o->flags & TW_EPOCH_ATOMIC)))
		return 0;
	return (a->flags & TW_EPOCH_WRITE) || !(o->flags & TW_EPOCH_WRITE);
}

static int conflicts(const struct tw_epoch_access *a, const struct tw_epoch_access *o)
{
	return ((a->flags | o->flags) & TW_EPOCH_WRITE) && !(a->flags & o->flags & TW_EPOCH_ATOMIC);
}

static int is_known(const struct tw_epoch_access *o, const struct tw_epoch_access *a, const struct tw_clocks *clocks)
{
	return o->thread == a->thread || o->clock <= tw_clocks_get(clocks, o->thread);
}

static int is_of_epoch(const struct tw_epoch_access *o, const struct tw_epoch_access *a)
{
	return o->thread == a->thread && o->clock == a->clock && o->locks == a->locks && !((a->flags ^ o->flags) & TW_EPOCH_ATOMIC);
}

static void see(struct tw_epoch_seen *seen, const struct tw_epoch_access *a)
{
	seen->read |= a->mask;
	seen->written |= a->flags & TW_EPOCH_WRITE ? a->mask : 0;
}

/* Looks up what is already there of the epoch of `a`. Does `a` add nothing? */
static int is_covered(struct tw_epoch_line *l, const struct tw_epoch_access *a, struct tw_epoch_seen *seen)
{
	*seen = (struct tw_epoch_seen){0};
	for (unsigned i = 0; i < l->n; i++)
		if (is_of_epoch(at(l, i), a))
			see(seen, at(l, i));
	return !(a->mask & ~(a->flags & TW_EPOCH_WRITE ? seen->written : seen->read));
}

/* Reports races, and drops what `a` subsumes. *joins: 1 + the place of an access of which `a` is another part. */
static int compare(struct tw_epoch_line *l, const struct tw_epoch_access *a, const struct tw_clocks *clocks, unsigned *joins,
                   int (*race)(void *context, const struct tw_epoch_access *earlier, const struct tw_epoch_access *later), void *context)
{
	unsigned n = 0;
	int result = 0;
	for (unsigned i = 0; i < l->n; i++) {
		struct tw_epoch_access *o = at(l, i);
		if (o->mask & a->mask) {
			const int known = is_known(o, a, clocks);
			if (!known && !result && conflicts(a, o))
				result = race(context, o, a);
			if (stands_for(a, o, known))
				o->mask &= ~a->mask;
			if (!o->mask)
				continue;
		}
		if (o->pc == a->pc && o->path == a->path && o->flags == a->flags && is_of_epoch(o, a))
			*joins = n + 1;
		if (i != n)
			*at(l, n) = *o;
		n++;
	}
	l->n = (uint16_t)n;
	return result;
}

int tw_epoch_add(struct tw_epoch *s, struct tw_epoch_line *l, const struct tw_epoch_access *a, const struct tw_clocks *clocks,
                 struct tw_epoch_seen *seen,
                 int (*race)(void *context, const struct tw_epoch_access *earlier, const struct tw_epoch_access *later), void *context)
{
	unsigned joins = 0;
	if (is_covered(l, a, seen))
		return 0;
	const int result = compare(l, a, clocks, &joins, race, context);
	see(seen, a);
	if (joins)
		at(l, joins - 1)->mask |= a->mask;
	return result || joins ? result : append(s, l, a);
}

/* ---- other memory ---- */

/* Bytes of a line in [from, to), which are places in its page. */
static uint64_t bytes_between(unsigned line, uint64_t from, uint64_t to)
{
	const uint64_t begins = line * TW_EPOCH_LINE, ends = begins + TW_EPOCH_LINE;
	const uint64_t above = from <= begins ? ~0ull : from < ends ? ~0ull << (from - begins) : 0;
	return to >= ends ? above : to > begins ? above & ~(~0ull << (to - begins)) : 0;
}

static void forget_bytes(struct tw_epoch_line *l, uint64_t bytes)
{
	unsigned n = 0;
	for (unsigned i = 0; i < l->n; i++) {
		struct tw_epoch_access o = *at(l, i);
		o.mask &= ~bytes;
		if (o.mask)
			*at(l, n++) = o;
	}
	l->n = (uint16_t)n;
	l->atomic &= ~bytes;
	l->waited &= ~bytes;
}

/* What of the page lies in [start, end). */
static void forget_page(struct tw_epoch_page *p, uint64_t start, uint64_t end)
{
	const uint64_t first = tw_page_address(p->key), from = (start > first ? start - first : 0) & ~7ull;
	const uint64_t to = end - first < PAGE ? (end - first + 7) & ~7ull : PAGE;
	for (unsigned i = 0; i < TW_EPOCH_LINES; i++)
		forget_bytes(&p->lines[i], bytes_between(i, from, to));
}

static int lies_in(const struct tw_epoch_page *p, uint32_t program, uint64_t start, uint64_t end)
{
	const uint64_t first = tw_page_address(p->key);
	return tw_page_process(p->key) == program && first < end && first + PAGE > start;
}

void tw_epoch_forget(struct tw_epoch *s, uint32_t program, uint64_t start, uint64_t end)
{
	const uint64_t n = (end - (start & ~(uint64_t)(PAGE - 1))) / PAGE + 1; /* or one less */
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
	free_slabs(s->rooms.slabs, s->rooms.n);
	free_slabs(s->slabs, s->n_slabs);
	free(s->pages);
	memset(s, 0, sizeof *s);
}

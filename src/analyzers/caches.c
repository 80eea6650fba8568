#include "analyzers/caches.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* What has no line yet. */
#define NOTHING UINT64_MAX

/* What became of a look into one cache. */
struct look {
	uint64_t *entry; /* the line's, now */
	uint64_t gone;   /* the entry it took the place of; NOTHING */
	int hit, taken;
};

/* ---- one cache ---- */

static int new_cache(struct tw_cache *c, const struct tw_cache_shape *shape, int pseudo_lru)
{
	size_t n = (size_t)shape->sets * shape->ways;
	int power = !(shape->sets & (shape->sets - 1));
	if (!n)
		return 1;
	*c = (struct tw_cache){.mask = power ? shape->sets - 1 : 0, .sets = shape->sets, .ways = shape->ways};
	c->entries = malloc(n * sizeof *c->entries);
	c->trees = pseudo_lru ? calloc(shape->sets, sizeof *c->trees) : NULL;
	if (c->entries)
		memset(c->entries, 0xff, n * sizeof *c->entries);
	return c->entries && (c->trees || !pseudo_lru);
}

static void free_cache(struct tw_cache *c)
{
	free(c->entries);
	free(c->trees);
}

static inline int is_line(uint64_t entry, uint64_t line)
{
	return (entry & ~(uint64_t)TW_LINE_SOLE) == line << TW_LINE_SHIFT;
}

/* The lines before it move by one; the place of a taken line is reused, or the last line is evicted. */
static struct look look_in_order(uint64_t *set, unsigned ways, uint64_t line)
{
	const uint64_t wanted = line << TW_LINE_SHIFT;
	uint64_t before = set[0];
	if (is_line(before, line))
		return (struct look){.entry = set, .gone = NOTHING, .hit = 1};
	for (unsigned i = 1; before != (wanted | TW_LINE_INVALID) && i < ways; i++) {
		uint64_t here = set[i];
		set[i] = before;
		if (is_line(here, line)) {
			set[0] = here;
			return (struct look){.entry = set, .gone = NOTHING, .hit = 1};
		}
		before = here;
	}
	set[0] = wanted;
	return (struct look){.entry = set, .gone = before, .taken = before == (wanted | TW_LINE_INVALID)};
}

/* The line that the tree says is to go. */
static unsigned tree_victim(uint64_t tree, unsigned ways)
{
	unsigned node = 1;
	while (node < ways)
		node = 2 * node + (tree >> node & 1);
	return node - ways;
}

/* Each node on the way to the line points away from it. */
static uint64_t tree_used(uint64_t tree, unsigned ways, unsigned way)
{
	for (unsigned node = ways + way; node > 1; node /= 2) {
		uint64_t bit = 1ull << node / 2;
		tree = node & 1 ? tree & ~bit : tree | bit;
	}
	return tree;
}

/* Where the line goes that is in none of the ways. */
static unsigned tree_place(const uint64_t *set, uint64_t tree, unsigned ways, uint64_t line)
{
	unsigned place = ways;
	for (unsigned i = ways; i-- > 0;)
		if (set[i] & TW_LINE_INVALID)
			place = i;
	for (unsigned i = 0; i < ways; i++)
		if (set[i] == (line << TW_LINE_SHIFT | TW_LINE_INVALID))
			return i;
	return place < ways ? place : tree_victim(tree, ways);
}

static struct look look_in_tree(struct tw_cache *c, uint64_t *set, uint64_t line)
{
	uint64_t *tree = &c->trees[(size_t)(set - c->entries) / c->ways], gone = NOTHING;
	unsigned way = 0;
	while (way < c->ways && !is_line(set[way], line))
		way++;
	int hit = way < c->ways;
	if (!hit) {
		way = tree_place(set, *tree, c->ways, line);
		gone = set[way];
		set[way] = line << TW_LINE_SHIFT;
	}
	*tree = tree_used(*tree, c->ways, way);
	return (struct look){&set[way], gone, hit, gone == (line << TW_LINE_SHIFT | TW_LINE_INVALID)};
}

static struct look look(struct tw_cache *c, uint64_t line)
{
	uint64_t *set = tw_cache_set(c, line);
	return c->trees ? look_in_tree(c, set, line) : look_in_order(set, c->ways, line);
}

/* The line's entry, without using it; NULL: it is not there. */
static uint64_t *peek(const struct tw_cache *c, uint64_t line)
{
	if (!c->ways)
		return NULL;
	uint64_t *set = tw_cache_set(c, line);
	for (unsigned i = 0; i < c->ways; i++)
		if (is_line(set[i], line))
			return &set[i];
	return NULL;
}

/* With LRU the invalid ones come last, the most recently invalidated first. */
static void invalidate(struct tw_cache *c, uint64_t *entry, uint64_t to)
{
	const uint64_t *end = c->entries + ((size_t)(entry - c->entries) / c->ways + 1) * c->ways;
	for (; !c->trees && entry + 1 < end && !(entry[1] & TW_LINE_INVALID); entry++)
		*entry = entry[1];
	*entry = to;
}

/* ---- cores ---- */

void tw_caches_init(struct tw_caches *c)
{
	while (c->n_levels < TW_CACHE_LEVELS && c->options.level[c->n_levels].sets)
		c->n_levels++;
	c->n_own = c->n_levels > 1 ? c->n_levels - 1 : c->n_levels;
}

static void free_core(struct tw_core *core)
{
	for (unsigned i = 0; i < TW_CACHE_LEVELS; i++)
		free_cache(&core->own[i]);
	free_cache(&core->code);
	free(core);
}

void tw_caches_free(struct tw_caches *c)
{
	for (uint32_t i = 0; i < c->n_cores; i++)
		tw_caches_remove_core(c, i);
	free(c->cores);
	free_cache(&c->last);
}

static struct tw_core *new_core(const struct tw_caches *c)
{
	struct tw_core *core = calloc(1, sizeof *core);
	int all = core && new_cache(&core->code, &c->options.code, c->options.pseudo_lru);
	for (unsigned i = 0; i < c->n_own && all; i++)
		all = new_cache(&core->own[i], &c->options.level[i], c->options.pseudo_lru);
	if (all)
		return core;
	if (core)
		free_core(core);
	return NULL;
}

struct tw_core *tw_caches_core(struct tw_caches *c, uint32_t number)
{
	int no_last = c->n_levels > c->n_own && !c->last.entries;
	if (no_last && !new_cache(&c->last, &c->options.level[c->n_own], c->options.pseudo_lru))
		return NULL;
	while (c->n_cores <= number) {
		struct tw_core **cores = tw_array_room(c->cores, c->n_cores, &c->cores_room, sizeof *cores);
		if (!cores)
			return NULL;
		c->cores = cores;
		cores[c->n_cores++] = NULL;
	}
	if (!c->cores[number]) {
		c->cores[number] = new_core(c);
		c->n_live += c->cores[number] != NULL;
	}
	return c->cores[number];
}

void tw_caches_remove_core(struct tw_caches *c, uint32_t number)
{
	if (number >= c->n_cores || !c->cores[number])
		return;
	free_core(c->cores[number]);
	c->cores[number] = NULL;
	c->n_live--;
}

/* ---- coherence ---- */

/* The line in a cache of another core: from now on shared, or taken. Returns whether it was there. */
static int share(struct tw_cache *cache, uint64_t line, int take)
{
	uint64_t *entry = peek(cache, line);
	if (entry && take)
		invalidate(cache, entry, line << TW_LINE_SHIFT | TW_LINE_INVALID);
	else if (entry)
		*entry &= ~(uint64_t)TW_LINE_SOLE;
	return entry != NULL;
}

/* In all caches of other cores. Whether any of them had it. */
static int share_with_others(struct tw_caches *c, const struct tw_core *core, uint64_t line, int take)
{
	int any = 0;
	for (uint32_t n = 0; n < c->n_cores; n++) {
		struct tw_core *other = c->cores[n];
		if (!other || other == core)
			continue;
		int had = share(&other->code, line, take);
		for (unsigned i = 0; i < c->n_own; i++)
			had |= share(&other->own[i], line, take);
		any |= had;
		c->invalidations += (unsigned)(had && take);
	}
	return any;
}

/* A line has left the inclusive last level. */
static void drop_everywhere(struct tw_caches *c, uint64_t line)
{
	for (uint32_t n = 0; n < c->n_cores; n++) {
		struct tw_core *core = c->cores[n];
		for (unsigned i = 0; core && i <= c->n_own; i++) {
			struct tw_cache *cache = i < c->n_own ? &core->own[i] : &core->code;
			uint64_t *entry = peek(cache, line);
			if (entry)
				invalidate(cache, entry, NOTHING);
		}
	}
}

/* ---- accesses ---- */

static struct tw_cache *own_cache(struct tw_core *core, unsigned level, enum tw_cache_access access)
{
	return level == 0 && access == TW_CACHE_CODE ? &core->code : &core->own[level];
}

static int look_in_last(struct tw_caches *c, uint64_t line)
{
	struct look l = look(&c->last, line);
	if (c->options.inclusive && !(l.gone & TW_LINE_INVALID))
		drop_everywhere(c, l.gone >> TW_LINE_SHIFT);
	return l.hit;
}

/* Is the core the only one with the line after its access? It was `found` in a cache of its own or not. */
static int becomes_sole(struct tw_caches *c, const struct tw_core *core, uint64_t line, enum tw_cache_access access, int found,
                        int was_sole)
{
	if (was_sole || c->n_live == 1)
		return access != TW_CACHE_CODE;
	if (access == TW_CACHE_WRITE) {
		share_with_others(c, core, line, 1);
		return 1;
	}
	return !found && !share_with_others(c, core, line, 0) && access != TW_CACHE_CODE;
}

struct tw_found tw_caches_access(struct tw_caches *c, struct tw_core *core, uint64_t line, enum tw_cache_access access)
{
	struct look l = {0};
	uint64_t *entry[TW_CACHE_LEVELS];
	struct tw_found found = {0};
	unsigned filled = 0;
	for (; found.level < c->n_own && !l.hit; found.level += !l.hit) {
		l = look(own_cache(core, found.level, access), line);
		found.taken |= (uint8_t)l.taken;
		entry[filled++] = l.entry;
	}
	int was_sole = l.hit && (*l.entry & TW_LINE_SOLE);
	if (becomes_sole(c, core, line, access, l.hit, was_sole))
		for (unsigned i = 0; i < filled; i++)
			*entry[i] |= TW_LINE_SOLE;
	if (!l.hit && c->n_levels > c->n_own)
		found.level += (uint8_t)!look_in_last(c, line);
	return found;
}

int tw_caches_level(struct tw_caches *c, struct tw_core *core, unsigned level, uint64_t line, enum tw_cache_access access)
{
	return level < c->n_own ? look(own_cache(core, level, access), line).hit : look_in_last(c, line);
}

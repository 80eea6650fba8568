/* The caches against a model that keeps of each line when it was used, and searches. */
#include "analyzers/caches.h"
#include "unit.h"

#include <stdlib.h>

enum { CORES = 3, MOST_WAYS = 16, MOST_SETS = 16, LINES = 400, ACCESSES = 60000 };

struct place {
	uint64_t line, since; /* when it was used, or made invalid */
	char state;           /* of M, E and S; I: taken by another; 0: nothing */
};

struct plain_cache {
	struct place place[MOST_SETS][MOST_WAYS];
	char right[MOST_SETS][2 * MOST_WAYS]; /* of the tree's nodes */
};

struct plain {
	const struct tw_caches_options *options;
	unsigned n_levels, n_own;
	struct plain_cache own[CORES][TW_CACHE_LEVELS], code[CORES], last;
	uint64_t now, invalidations;
};

static struct place *find(struct plain_cache *c, const struct tw_cache_shape *shape, uint64_t line, int also_invalid)
{
	struct place *set = c->place[line % shape->sets];
	for (unsigned i = 0; i < shape->ways; i++)
		if (set[i].state && set[i].line == line && (also_invalid || set[i].state != 'I'))
			return &set[i];
	return NULL;
}

/* Halves the ways until one is left. */
static unsigned pseudo_oldest(const struct plain_cache *c, unsigned set, unsigned first, unsigned n, unsigned node)
{
	if (n == 1)
		return first;
	return c->right[set][node] ? pseudo_oldest(c, set, first + n / 2, n / 2, 2 * node + 1)
	                           : pseudo_oldest(c, set, first, n / 2, 2 * node);
}

static void pseudo_use(struct plain_cache *c, unsigned set, unsigned way, unsigned first, unsigned n, unsigned node)
{
	if (n == 1)
		return;
	int in_right = way >= first + n / 2;
	c->right[set][node] = (char)!in_right;
	pseudo_use(c, set, way, in_right ? first + n / 2 : first, n / 2, 2 * node + (unsigned)in_right);
}

static struct place *room_for(const struct plain *p, struct plain_cache *c, const struct tw_cache_shape *shape, uint64_t line)
{
	unsigned set = (unsigned)(line % shape->sets);
	struct place *at = c->place[set], *best = NULL;
	if (find(c, shape, line, 1))
		return find(c, shape, line, 1);
	for (unsigned i = 0; i < shape->ways; i++) /* nothing or invalid */
		if ((!at[i].state || at[i].state == 'I') && (!best || (!p->options->pseudo_lru && at[i].since < best->since)))
			best = &at[i];
	if (best)
		return best;
	if (p->options->pseudo_lru)
		return &at[pseudo_oldest(c, set, 0, shape->ways, 1)];
	best = at;
	for (unsigned i = 1; i < shape->ways; i++)
		best = at[i].since < best->since ? &at[i] : best;
	return best;
}

/* Uses the line, which is put there if it is not. */
static struct place *use(struct plain *p, struct plain_cache *c, const struct tw_cache_shape *shape, uint64_t line, int *hit,
                         struct place *gone)
{
	struct place *at = find(c, shape, line, 0);
	*hit = at != NULL;
	gone->state = 0;
	if (!at) {
		at = room_for(p, c, shape, line);
		*gone = *at;
		*at = (struct place){.line = line, .state = 'S'};
	}
	at->since = p->now;
	pseudo_use(c, (unsigned)(line % shape->sets), (unsigned)(at - c->place[line % shape->sets]), 0, shape->ways, 1);
	return at;
}

/* Calls for all copies of the line in cores other than `core`. */
static int others(struct plain *p, int core, uint64_t line, char becomes)
{
	int any = 0;
	for (int k = 0; k < CORES; k++) {
		int had = 0;
		for (unsigned i = 0; i <= p->n_own && k != core; i++) {
			int code = i == p->n_own;
			if (code && !p->options->code.sets)
				continue;
			struct place *at =
			    find(code ? &p->code[k] : &p->own[k][i], code ? &p->options->code : &p->options->level[i], line, 0);
			if (!at)
				continue;
			had = 1;
			at->state = becomes;
			at->since = becomes == 'S' ? at->since : p->now;
		}
		any |= had;
		p->invalidations += (unsigned)(had && becomes == 'I');
	}
	return any;
}

static void drop(struct plain *p, uint64_t line)
{
	for (int k = 0; k < CORES; k++) {
		for (unsigned i = 0; i <= p->n_own; i++) {
			int code = i == p->n_own;
			if (code && !p->options->code.sets)
				continue;
			struct place *at =
			    find(code ? &p->code[k] : &p->own[k][i], code ? &p->options->code : &p->options->level[i], line, 0);
			if (at)
				*at = (struct place){.since = p->now};
		}
	}
}

static struct tw_found plain_access(struct plain *p, int core, uint64_t line, enum tw_cache_access access)
{
	struct tw_found f = {0};
	struct place *at[TW_CACHE_LEVELS], gone;
	int hit = 0, n = 0;
	char state = 0;
	p->now++;
	for (; f.level < p->n_own && !hit; f.level += !hit) {
		int code = !f.level && access == TW_CACHE_CODE;
		at[n] = use(p, code ? &p->code[core] : &p->own[core][f.level], code ? &p->options->code : &p->options->level[f.level], line,
		            &hit, &gone);
		f.taken |= gone.state == 'I' && gone.line == line;
		n++;
	}
	if (hit)
		state = at[n - 1]->state;
	if (access == TW_CACHE_WRITE) {
		if (state != 'M' && state != 'E')
			others(p, core, line, 'I');
		state = 'M';
	} else if (!hit) {
		state = others(p, core, line, 'S') ? 'S' : 'E';
	}
	for (int i = 0; i < n; i++)
		at[i]->state = access == TW_CACHE_CODE ? 'S' : state;
	if (!hit && p->n_levels > p->n_own) {
		use(p, &p->last, &p->options->level[p->n_own], line, &hit, &gone);
		f.level += !hit;
		if (p->options->inclusive && gone.state)
			drop(p, gone.line);
	}
	return f;
}

static unsigned seed;

static unsigned next(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 8) % n;
}

static void compare(const struct tw_caches_options *options, int cores)
{
	struct tw_caches c = {.options = *options};
	struct plain *p = calloc(1, sizeof *p);
	uint64_t misses[TW_CACHE_LEVELS + 1] = {0}, taken = 0, different = 0;
	tw_caches_init(&c);
	p->options = options;
	p->n_levels = c.n_levels;
	p->n_own = c.n_own;
	for (int k = 0; k < cores; k++)
		CHECK(tw_caches_core(&c, (uint32_t)k));
	for (int i = 0; i < ACCESSES; i++) {
		int core = (int)next((unsigned)cores);
		uint64_t line = next(4) ? next(40) : next(LINES);
		enum tw_cache_access access = options->code.sets ? next(3) : next(2);
		struct tw_found expected = plain_access(p, core, line, access);
		struct tw_core *at = tw_caches_core(&c, (uint32_t)core);
		int newest = !options->pseudo_lru && tw_cache_is_newest(access == TW_CACHE_CODE ? &at->code : &at->own[0], line, access);
		struct tw_found found = tw_caches_access(&c, at, line, access);
		different += found.level != expected.level || found.taken != expected.taken || (newest && found.level);
		misses[found.level]++;
		taken += found.taken;
	}
	EQUAL(different, 0);
	EQUAL(c.invalidations, p->invalidations);
	CHECK(misses[0] && misses[c.n_levels]); /* there was something to compare */
	CHECK((cores > 1) == (taken > 0));
	free(p);
	tw_caches_free(&c);
}

static void compare_all(struct tw_caches_options o)
{
	for (int cores = 1; cores <= CORES; cores += 2) {
		for (int tree = 0; tree < 2; tree++) {
			o.pseudo_lru = tree;
			o.inclusive = 0;
			compare(&o, cores);
			o.inclusive = 1;
			compare(&o, cores);
		}
	}
}

/* What was worked out on paper: two sets of two ways. */
static void check_by_hand(void)
{
	static const uint64_t lines[] = {0, 2, 0, 4, 0, 2, 1, 1};
	static const int found[] = {1, 1, 0, 1, 0, 1, 1, 0};
	struct tw_caches c = {.options = {.level = {{2, 2}}}};
	tw_caches_init(&c);
	struct tw_core *core = tw_caches_core(&c, 0);
	for (size_t i = 0; core && i < sizeof lines / sizeof lines[0]; i++)
		EQUAL(tw_caches_access(&c, core, lines[i], TW_CACHE_READ).level, found[i]);
	tw_caches_free(&c);
}

int main(void)
{
	check_by_hand();
	compare_all((struct tw_caches_options){.level = {{4, 4}}});
	compare_all((struct tw_caches_options){.level = {{4, 4}, {8, 8}}});
	compare_all((struct tw_caches_options){.level = {{1, 8}, {6, 4}}, .code = {2, 4}});
	compare_all((struct tw_caches_options){.level = {{2, 2}, {4, 8}, {16, 16}}, .code = {4, 2}});
	return UNIT_END();
}

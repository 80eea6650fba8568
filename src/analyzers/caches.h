/*
 * Caches: which lines the levels of a machine's caches hold, and at which level each access finds its line.
 *
 * Each core has its own caches; the last level is shared by all. If there is only one level, it is a core's own. A
 * line that is not found at a level is put into it, replacing the one that was not used for longest: exactly (LRU),
 * or according to a tree of bits (pseudo-LRU). If the last level is inclusive, a line evicted from it leaves the
 * cores' caches too.
 *
 * Cores keep their lines coherent as in MESI: a write to a line that others may hold takes it from them (`taken`), a
 * read shares it. Modified and exclusive are one state here, `sole`: no other core has the line; write-backs are not
 * modelled. A line that was taken keeps its place, as invalid, until another line is put there.
 *
 * A line is named by its number, the address divided by the line size; numbers are less than 2^62.
 */
#ifndef TW_CACHES_H
#define TW_CACHES_H

#include <stddef.h>
#include <stdint.h>

enum { TW_CACHE_LEVELS = 3 };

struct tw_cache_shape {
	uint32_t sets; /* 0: there is no such cache */
	uint32_t ways; /* 1 to 64; with pseudo-LRU a power of two */
};

struct tw_caches_options {
	struct tw_cache_shape level[TW_CACHE_LEVELS]; /* those there are first */
	struct tw_cache_shape code;                   /* first level for code; if there is none, no code may be accessed */
	int pseudo_lru, inclusive;
};

/* A line's bits beside its number in `entries`. */
enum { TW_LINE_SOLE = 1, TW_LINE_INVALID = 2, TW_LINE_SHIFT = 2 };

/* With LRU a set's lines are in the order of their last use, the newest first, followed by invalid ones. */
struct tw_cache {
	uint64_t *entries; /* set by set */
	uint64_t *trees;   /* pseudo-LRU: for each set; bit k, node k of the tree, 1 the root, 1: the victim is on its right */
	uint64_t mask;     /* sets - 1 where that is a power of two, else 0 */
	uint32_t sets, ways;
};

struct tw_core {
	struct tw_cache own[TW_CACHE_LEVELS]; /* all but the last level */
	struct tw_cache code;
};

struct tw_caches {
	struct tw_caches_options options;
	unsigned n_levels, n_own;
	struct tw_cache last;
	struct tw_core **cores; /* by number, NULL: there is none */
	uint32_t n_cores;
	size_t cores_room;
	uint32_t n_live;
	uint64_t invalidations; /* lines taken from a core */
};

enum tw_cache_access { TW_CACHE_READ, TW_CACHE_WRITE, TW_CACHE_CODE };

/* Where a line was found: at a level, 0 the first, or in memory, n_levels. */
struct tw_found {
	uint8_t level;
	uint8_t taken; /* 1: the core had it until another one wrote it */
};

/* All zeros but for `options`. */
void tw_caches_init(struct tw_caches *c);
void tw_caches_free(struct tw_caches *c);

/* The core with this number, with empty caches if it is new. NULL: no memory. */
struct tw_core *tw_caches_core(struct tw_caches *c, uint32_t number);
void tw_caches_remove_core(struct tw_caches *c, uint32_t number);

/* A core accesses a line: looks for it, level by level, and puts it where it was not found. */
struct tw_found tw_caches_access(struct tw_caches *c, struct tw_core *core, uint64_t line, enum tw_cache_access access);

/* One level only, without coherence: does it have the line? It does afterwards. If the last level is shared, `core` is irrelevant. */
int tw_caches_level(struct tw_caches *c, struct tw_core *core, unsigned level, uint64_t line, enum tw_cache_access access);

static inline uint64_t *tw_cache_set(const struct tw_cache *c, uint64_t line)
{
	return c->entries + (c->mask || c->sets == 1 ? line & c->mask : line % c->sets) * c->ways;
}

/*
 * Does a core's access find its line in a state that the access does not change: newest of its set, and for a write
 * the core's alone? Only with LRU.
 */
static inline int tw_cache_is_newest(const struct tw_cache *c, uint64_t line, enum tw_cache_access access)
{
	const uint64_t differs = *tw_cache_set(c, line) ^ (line << TW_LINE_SHIFT | TW_LINE_SOLE);
	return differs <= (access != TW_CACHE_WRITE); /* TW_LINE_SOLE: it is there, but others may have it */
}

#endif

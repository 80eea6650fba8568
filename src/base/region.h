/*
 * Regions of code that have been told, by the logs of DIME* (learn/log.h), in the table of told.h in place of facts.
 * For `hash` a key for each start address of a block; for `tree` and `merging`, which use ranges, the bytes that are
 * in one. An entry covers 32 bytes of a module: its upper half is a key, its lower half a bit for each byte.
 *
 * Both sides of the channel include this; entries are changed by one atomic operation.
 */
#ifndef TW_REGION_H
#define TW_REGION_H

#include "base/told.h"

enum tw_region_log { TW_REGION_EXACT, TW_REGION_HASH, TW_REGION_TREE, TW_REGION_MERGING };

enum { TW_REGION_BYTES = 32 };

struct tw_region_table {
	uint64_t *of;
	uint64_t entries;
};

/* Of a block that begins there. Never 0. */
static inline uint64_t tw_region_start(struct tw_told_place at)
{
	return tw_told_mix(tw_told_mix(tw_told_mix(at.module, at.offset), 3), 0) | 1;
}

/* The entry whose part under `mask` is `key`, or a free one; NULL: there is no room. */
static inline uint64_t *tw_region_find(struct tw_region_table t, struct tw_told_place at, uint64_t key, uint64_t mask)
{
	for (uint32_t k = 0; k < TW_TOLD_PROBES; k++) {
		uint64_t *e = &t.of[(tw_told_first(at) + k) % t.entries];
		const uint64_t there = __atomic_load_n(e, __ATOMIC_RELAXED);
		if (!there || (there & mask) == key)
			return e;
	}
	return 0;
}

/* Mask of the known bytes of [at, at + n), which are within one entry. With `add` all are known from now on. */
static inline uint32_t tw_region_bits(struct tw_region_table t, struct tw_told_place at, uint32_t wanted, int add)
{
	const uint64_t upper = 0xffffffff00000000ull;
	at.offset -= at.offset % TW_REGION_BYTES;
	const uint64_t key = (tw_told_mix(tw_told_mix(at.module, at.offset), 5) | 1ull << 32) & upper;
	for (;;) {
		uint64_t *e = tw_region_find(t, at, key, upper), there = e ? __atomic_load_n(e, __ATOMIC_RELAXED) : 0;
		if (!e || !add)
			return (uint32_t)there & wanted;
		if (there && (there & upper) != key)
			continue; /* another has just taken it */
		if (__atomic_compare_exchange_n(e, &there, key | there | wanted, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return wanted;
	}
}

/* Are all of these bytes known? With `add` they are from now on. */
static inline int tw_region_covers(struct tw_region_table t, struct tw_told_place at, uint64_t bytes, int add)
{
	int all = 1;
	while (bytes) {
		const uint64_t first = at.offset % TW_REGION_BYTES, room = TW_REGION_BYTES - first, n = bytes < room ? bytes : room;
		const uint32_t wanted = (uint32_t)(((1ull << n) - 1) << first);
		all &= tw_region_bits(t, at, wanted, add) == wanted;
		at.offset += n;
		bytes -= n;
	}
	return all;
}

/* Does this log know the block? */
static inline int tw_region_knows(enum tw_region_log log, struct tw_region_table t, struct tw_told_place at, uint64_t bytes)
{
	const uint64_t *e;
	switch (log) {
	case TW_REGION_HASH:
		e = tw_region_find(t, at, tw_region_start(at), ~0ull);
		return e && __atomic_load_n(e, __ATOMIC_RELAXED);
	case TW_REGION_TREE:
		return tw_region_covers(t, at, 1, 0);
	default:
		return tw_region_covers(t, at, bytes + 1, 0); /* it ends before the range does */
	}
}

/* It is told. */
static inline void tw_region_add(enum tw_region_log log, struct tw_region_table t, struct tw_told_place at, uint64_t bytes)
{
	if (log == TW_REGION_HASH) {
		uint64_t *e = tw_region_find(t, at, tw_region_start(at), ~0ull);
		if (e)
			__atomic_store_n(e, tw_region_start(at), __ATOMIC_RELAXED);
	} else {
		tw_region_covers(t, at, bytes, 1);
	}
}

#endif

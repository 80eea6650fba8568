/*
 * Facts that have been told (LEARNED events): a table in the channel, at the place that formats with tags use for
 * claims (sizes.h: claims_at). It has a key for each fact that must not be told again: before the program starts
 * those of the learn file, and later whatever any process of the recording has told. Lossy: a fact that finds no
 * place is told each time. A key has 64 bits, so two facts with the same key, of which the second would never be
 * told, are not to be expected among fewer than a thousand million.
 *
 * Code is identified by module and by offset in the module's file. Code of no file has no key, and is told each time.
 */
#ifndef TW_TOLD_H
#define TW_TOLD_H

#include <stdint.h>

#define TW_TOLD_PROBES 32u

/* Where a fact is: a module (tw_told_module; 0: none), and an offset in its file. */
struct tw_told_place {
	uint64_t module, offset;
};

static inline uint64_t tw_told_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* By its path. Never 0. */
static inline uint64_t tw_told_module(const char *path)
{
	uint64_t h = 1;
	for (; *path; path++)
		h = tw_told_mix(h, (uint8_t)*path);
	return h | 1;
}

/* Of a block of so many bytes. Never 0. */
static inline uint64_t tw_told_block(struct tw_told_place at, uint64_t bytes)
{
	return tw_told_mix(tw_told_mix(tw_told_mix(at.module, at.offset), bytes), 0) | 1;
}

/* Of an edge from the end of the branch at `from`, or of a call as such. Never 0. */
static inline uint64_t tw_told_edge(struct tw_told_place from, struct tw_told_place to, int is_call)
{
	return tw_told_mix(tw_told_mix(tw_told_mix(tw_told_mix(from.module, from.offset), to.module), to.offset), is_call ? 2 : 1) | 1;
}

/* Where to look for a key first: what is close together in the program is close here, too. */
static inline uint64_t tw_told_first(struct tw_told_place at)
{
	return (at.module >> 20) + at.offset / 2;
}

#endif

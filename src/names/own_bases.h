/*
 * Bases of fs of all threads and times, from the recording's events: they tell where threads have thread-local
 * variables (own_variables.h).
 */
#ifndef TW_OWN_BASES_H
#define TW_OWN_BASES_H

#include "names/places.h"

struct tw_own_base {
	uint32_t image;
	uint64_t base;
};

struct tw_own_bases {
	struct tw_own_base *items; /* by image, then base; each once */
	size_t n, room;
};

/* Unreadable data is skipped. 0: no memory; tw_own_bases_free in any case. */
int tw_own_bases_find(const struct tw_places *p, struct tw_own_bases *out);
void tw_own_bases_free(struct tw_own_bases *b);

/* The lowest base of an image above an address; 0: none. */
uint64_t tw_own_base_above(const struct tw_own_bases *b, uint32_t image, uint64_t address);

#endif

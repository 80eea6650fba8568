/*
 * Sets of locks, numbered: what a thread held at an access. Number 0 is the empty set; beyond 65,535 sets, further
 * ones get number 0 too.
 */
#ifndef TW_LOCKSET_H
#define TW_LOCKSET_H

#include "analyzers/held.h"

struct tw_lockset {
	uint64_t *addr; /* sorted */
	size_t n;
};

/* All zeros: none. */
struct tw_locksets {
	struct tw_lockset *sets;
	size_t n, room;
};

/* The number of what is held. */
uint16_t tw_locksets_number(struct tw_locksets *s, const struct tw_held *held);

/* Do they have a lock in common? */
int tw_locksets_meet(const struct tw_locksets *s, uint16_t a, uint16_t b);

const struct tw_lockset *tw_locksets_get(const struct tw_locksets *s, uint16_t number);
void tw_locksets_free(struct tw_locksets *s);

#endif

/* What a replay has seen of the code that ran: facts in addresses of an image (names/places.h), before they have names. */
#ifndef TW_LEARN_SEEN_H
#define TW_LEARN_SEEN_H

#include "learn/facts.h"

/* As struct tw_fact; `parent`: the number of another one in the same set, from 1. */
struct tw_seen {
	uint32_t kind, image, parent, reserved;
	uint64_t from, to;
};

enum { TW_SEEN_LAST = 1 << 13 };

/* All zeros: empty. */
struct tw_seen_set {
	struct tw_seen *of; /* in the order in which they were seen: parents come before their children */
	size_t n, room;
	uint32_t *slots;
	size_t n_slots;
	struct {
		struct tw_seen seen;
		uint32_t number;
	} last[TW_SEEN_LAST]; /* recently seen ones: most come again and again */
};

void tw_seen_free(struct tw_seen_set *s);

/* Its number, from 1; it is entered if new. 0: no memory. */
uint32_t tw_seen_number(struct tw_seen_set *s, const struct tw_seen *seen);

/* Adds another set. 0 or TW_ERR_MEMORY. */
int tw_seen_merge(struct tw_seen_set *s, const struct tw_seen_set *more);

#endif

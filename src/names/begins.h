/*
 * Where functions begin in code instrumented by trackway cc: the inserted code is not in the recording of its
 * program, so a function's first recorded instruction stands behind it.
 */
#ifndef TW_BEGINS_H
#define TW_BEGINS_H

#include <trackway/recording.h>

/* Addresses of all blocks, sorted. Empty where nothing was instrumented. */
struct tw_begins {
	uint64_t *pcs;
	size_t n;
};

/* 0: there is no memory. */
int tw_begins_find(const struct tw_recording *r, struct tw_begins *out);
void tw_begins_free(struct tw_begins *b);

/* Whether pc is the first place at or after `start` where a block begins, and near it. */
int tw_begins_at(const struct tw_begins *b, uint64_t start, uint64_t pc);

#endif

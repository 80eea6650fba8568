/*
 * Logged references: walks the references of a REFS event one by one, with the runs of repeated string instructions (TW_LOGGED_RUN in
 * include/trackway/event.h) taken apart into the references they stand for.
 */
#ifndef TW_LOGGED_H
#define TW_LOGGED_H

#include <trackway/event.h>

struct tw_logged {
	const uint8_t *at, *end;            /* entries not begun; they need not be aligned */
	struct tw_logged_ref first, second; /* of the run being walked; second.size 0: it has one */
	uint64_t left;                      /* references left in it */
	int64_t step;
	int turn; /* 1: the second's next */
};

/* `bytes` of entries behind a struct tw_refs. */
void tw_logged_begin(struct tw_logged *l, const void *entries, size_t bytes);

/* 1 and the next reference, with count 1; 0 at the end; -1: a run that is not whole or is absurdly long. */
int tw_logged_next(struct tw_logged *l, struct tw_logged_ref *ref);

#endif

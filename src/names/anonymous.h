/*
 * Code in no file: the mapping that it is in, according to the recording's events, and a name for it: "[JIT code of
 * node]". For code that neither a perf map nor a jitdump file names.
 */
#ifndef TW_ANONYMOUS_H
#define TW_ANONYMOUS_H

#include "names/places.h"

struct tw_anonymous_span {
	uint64_t start, end;
	uint32_t pid, image;
	char *label; /* the same for all spans of a kind and program */
};

struct tw_anonymous {
	struct tw_anonymous_span *items; /* by process, then address, then time */
	size_t n;
};

/* Finds the mappings without a file that were executable at some time. 0: no memory; tw_anonymous_free in any case. */
int tw_anonymous_find(const struct tw_places *p, struct tw_anonymous *out);
void tw_anonymous_free(struct tw_anonymous *a);

/* The span that covers pc in a process or image (places.h); the newest if there were several. NULL: unknown. */
const struct tw_anonymous_span *tw_anonymous_at(const struct tw_anonymous *a, uint32_t pid, uint64_t pc);

#endif

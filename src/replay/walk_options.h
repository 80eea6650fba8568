/* What a walk is given once. */
#ifndef TW_WALK_OPTIONS_H
#define TW_WALK_OPTIONS_H

#include <trackway/analyzer.h>

struct tw_programs;
struct tw_xstate;

/* Where a walk finds its programs and what it gives its batches to. */
struct tw_walk_options {
	const struct tw_programs *programs;
	const struct tw_xstate *xstate; /* of the machine that recorded */
	/* A tag names a fragment without a program: adds it and returns 0, or an error. NULL: there are no others. */
	int (*missing)(void *context, uint32_t number);
	/* As batch() of an analyzer: non-zero stops the walk. */
	int (*batch)(void *context, const struct tw_batch *batch);
	void *context;    /* for both */
	int cut_at_times; /* 1: a batch ends before each event that has a time */
	uint64_t period;  /* of an analyzer for which executions are counted; 0: none */
};

#endif

/*
 * What timeline.c collects and timeline_print.c prints. Not to be included elsewhere.
 */
#ifndef TW_TIMELINE_STATE_H
#define TW_TIMELINE_STATE_H

#include "analyzers/cct_state.h"

/* One call, from its first instruction to where it returned or was left; with all that it called. */
struct tw_timeline_call {
	uint64_t begin, end; /* time stamps; until the thread has ended: instructions of the thread */
	uint64_t insns, cycles;
	uint32_t block; /* of the tree: where the function begins */
	uint32_t thread, depth;
};

/* One system call. */
struct tw_timeline_wait {
	uint64_t begin, end; /* time stamps */
	uint64_t number;
	uint32_t thread;
};

/* A call that stands out. */
struct tw_timeline_longest {
	uint64_t insns, cycles, begin; /* begin: time stamp */
	uint32_t thread;
};

/* All calls that led to one block. */
struct tw_timeline_function {
	uint64_t calls, insns, cycles;
	struct tw_timeline_longest by_insns, by_cycles;
};

/* What a state has seen. Blocks are numbered by `tree`. */
struct tw_timeline {
	const struct tw_context *context;
	struct tw_contexts *tree;
	struct tw_timeline_function *functions; /* by block */
	size_t functions_room;
	struct tw_timeline_call *calls; /* the longest */
	size_t n_calls, calls_room, most;
	struct tw_timeline_wait *waits; /* likewise */
	size_t n_waits, waits_room;
};

/* Of two equally long calls that of the first thread, and its first one: the answer does not depend on who saw them first. */
static inline int tw_timeline_is_before(const struct tw_timeline_longest *a, const struct tw_timeline_longest *b)
{
	return a->thread != b->thread ? a->thread < b->thread : a->begin < b->begin;
}

/* Adds calls to what is known of their function. */
static inline void tw_timeline_add(struct tw_timeline_function *to, const struct tw_timeline_function *more)
{
	const struct tw_timeline_longest *insns = &more->by_insns, *cycles = &more->by_cycles;
	const int is_first = !to->calls;
	to->calls += more->calls;
	to->insns += more->insns;
	to->cycles += more->cycles;
	if (is_first || insns->insns > to->by_insns.insns ||
	    (insns->insns == to->by_insns.insns && tw_timeline_is_before(insns, &to->by_insns)))
		to->by_insns = *insns;
	if (is_first || cycles->cycles > to->by_cycles.cycles ||
	    (cycles->cycles == to->by_cycles.cycles && tw_timeline_is_before(cycles, &to->by_cycles)))
		to->by_cycles = *cycles;
}

/* The answer. 0 or an error. */
int tw_timeline_print(struct tw_timeline *t);

#endif

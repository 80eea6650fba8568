/*
 * Passes: what an execution of a stretch that stays (tw_stretch.number) does to a flow follows from the run that is open before it alone. So it is worked out once, step by
 * step, and then counted: a pass is a stretch with the run it was entered in, the edges that it adds, and the run that it leaves open. A run that goes over an instruction
 * which is found to be a jump later is split at the end, as a flow does with all runs; so a pass stays right.
 */
#ifndef TW_FLOW_PASSES_H
#define TW_FLOW_PASSES_H

#include "analyze/flow.h"

#include <trackway/analyzer.h>

struct tw_flow_pass {
	uint32_t run, stretch; /* entered in; the stretch's number */
	uint32_t out;          /* the run that is open behind it */
	uint32_t first_edge, n_edges;
	uint64_t times; /* that are not in the flow yet */
};

/* A stretch, by its number. */
struct tw_flow_passed {
	const struct tw_stretch *stretch; /* NULL: it has no pass */
	uint64_t times;                   /* as tw_flow_passes_settle found them; the user's to take */
	uint32_t recent;                  /* the pass used last; 0: none */
	uint8_t never;                    /* for the user: it cannot have one */
};

/* All zeros is none. */
struct tw_flow_passes {
	struct tw_flow_pass *items; /* number 0 is none */
	struct tw_flow_passed *stretches;
	uint32_t *edges;
	struct tw_flow_table table; /* of items by run and stretch */
	size_t n, room, stretches_room, n_edges, edges_room;
	size_t noted; /* edges behind n_edges, of the pass that is being made */
};

void tw_flow_passes_free(struct tw_flow_passes *p);

/* That of a number there is no room for yet. NULL: no memory. */
struct tw_flow_passed *tw_flow_passed_more(struct tw_flow_passes *p, uint32_t number);

/* The stretch of a number, which is not 0. NULL: no memory. */
static inline struct tw_flow_passed *tw_flow_passed(struct tw_flow_passes *p, uint32_t number)
{
	return number < p->stretches_room ? &p->stretches[number] : tw_flow_passed_more(p, number);
}

/* The pass of a stretch that is not the recent one. NULL: there is none. */
struct tw_flow_pass *tw_flow_pass_other(struct tw_flow_passes *p, struct tw_flow_passed *s, uint32_t run, uint32_t number);

/* The pass of a stretch entered in a run. NULL: there is none. */
static inline struct tw_flow_pass *tw_flow_pass_find(struct tw_flow_passes *p, struct tw_flow_passed *s, uint32_t run, uint32_t number)
{
	return s->recent && p->items[s->recent].run == run ? &p->items[s->recent] : tw_flow_pass_other(p, s, run, number);
}

/* A pass is made in three steps: begin, an edge for each that is counted, add. 0: no memory. Nothing comes of it without the last. */
void tw_flow_pass_begin(struct tw_flow_passes *p);
int tw_flow_pass_edge(struct tw_flow_passes *p, uint32_t edge);
int tw_flow_pass_add(struct tw_flow_passes *p, const struct tw_stretch *s, uint32_t run, uint32_t out);

/* Adds what was counted to the flow and to the stretches' times, and counts from 0 again. */
void tw_flow_passes_settle(struct tw_flow_passes *p, struct tw_flow *f);

#endif

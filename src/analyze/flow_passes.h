/*
 * Passes: what an execution of a permanent stretch (tw_stretch.number) does to a flow depends only on the run that is
 * open before it. So it is computed once, step by step, and then counted: a pass is a stretch with the run in which
 * it was entered, the edges that it adds, and the run that it leaves open. If a run crosses an instruction that is
 * later found to be a jump, it is split at the end, as a flow does with all runs; so a pass stays valid.
 *
 * A stretch keeps its most recent passes in one cache line; the others are found through a table.
 */
#ifndef TW_FLOW_PASSES_H
#define TW_FLOW_PASSES_H

#include "analyze/flow.h"

#include <trackway/analyzer.h>

struct tw_flow_pass {
	const struct tw_stretch *stretch;
	uint32_t run; /* entered in */
	uint32_t out; /* the run that is open behind it */
	uint32_t first_edge, n_edges;
	uint64_t times; /* that are not in the flow yet, without those that its stretch has counted */
};

enum { TW_FLOW_WAYS = 4, TW_FLOW_PASSED_ROW = 32768 };

/* A stretch, by its number, with passes that it took, the last one first. All zeros: nothing is known. */
struct tw_flow_passed {
	uint32_t run[TW_FLOW_WAYS], out[TW_FLOW_WAYS]; /* run 0: there is no pass */
	uint32_t times[TW_FLOW_WAYS];                  /* not in the pass yet */
	const struct tw_stretch *stretch;
	uint32_t n_blocks;
	uint8_t leads; /* not 0: it begins with references of the block before it */
	uint8_t never; /* for the user: it cannot have a pass */
	uint8_t turn;  /* the way that a pass takes which is in none */
	uint8_t reserved;
};
_Static_assert(sizeof(struct tw_flow_passed) == 64, "a line of the caches");

/* A pass in the table, with everything examined when another pass is moved to a way. */
struct tw_flow_pass_place {
	uint32_t run, number; /* entered in; of the stretch. run 0: the place is empty */
	uint32_t out;
	uint32_t times; /* not in the pass yet, and in no way */
};

/* All zeros is none. */
struct tw_flow_passes {
	struct tw_flow_pass *items;   /* number 0 is none */
	struct tw_flow_passed **rows; /* of TW_FLOW_PASSED_ROW stretches; NULL: of none */
	uint32_t *edges;
	struct tw_flow_pass_place *places; /* open addressing, by run and stretch */
	uint32_t *pass_of;                 /* the item of each place */
	uint32_t mask, used;               /* of places */
	size_t n, room, n_rows, n_edges, edges_room;
	size_t noted;   /* edges behind n_edges, of the pass that is being made */
	uint64_t taken; /* at least as often as any pass was, since stretches counted from 0 */
};

void tw_flow_passes_free(struct tw_flow_passes *p);

/* The stretch, known from now on. NULL: no memory. */
struct tw_flow_passed *tw_flow_passed_know(struct tw_flow_passes *p, const struct tw_stretch *s);

/* The stretch with this number, which is not 0. NULL: nothing is known. */
static inline struct tw_flow_passed *tw_flow_passed(const struct tw_flow_passes *p, uint32_t number)
{
	const size_t row = number / TW_FLOW_PASSED_ROW;
	return row < p->n_rows && p->rows[row] ? &p->rows[row][number % TW_FLOW_PASSED_ROW] : NULL;
}

/* Moves a pass that the stretch did not take last time to way 0. 0: none was entered in this run. */
int tw_flow_pass_other(struct tw_flow_passes *p, struct tw_flow_passed *s, uint32_t run);

/* Does the stretch have a pass that was entered in this run (not 0)? If so it is in way 0 then. */
static inline int tw_flow_pass_find(struct tw_flow_passes *p, struct tw_flow_passed *s, uint32_t run)
{
	return s->run[0] == run || tw_flow_pass_other(p, s, run);
}

/* A pass is made in three steps: begin, an edge for each that is counted, add. 0: no memory. Without the last step nothing happens. */
void tw_flow_pass_begin(struct tw_flow_passes *p);
int tw_flow_pass_edge(struct tw_flow_passes *p, uint32_t edge);
int tw_flow_pass_add(struct tw_flow_passes *p, struct tw_flow_passed *s, uint32_t run, uint32_t out);

/* Moves the counts of stretches to their passes; stretches count from 0 again. */
void tw_flow_passes_collect(struct tw_flow_passes *p);

/* Adds the counts to the flow, and counts from 0 again. Passes keep their `times` until then, after tw_flow_passes_collect. */
void tw_flow_passes_settle(struct tw_flow_passes *p, struct tw_flow *f);

/* So many passes will be taken now. */
static inline void tw_flow_passes_expect(struct tw_flow_passes *p, size_t n)
{
	p->taken += n;
	if (p->taken > UINT32_MAX)
		tw_flow_passes_collect(p);
}

#endif

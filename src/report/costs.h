/*
 * Costs of functions and source lines: self, and inclusive.
 *
 * With calls (analyze/calls.h, in order on one processor), costs are known for each instruction, so there are lines
 * and inclusive costs; a function's inclusive cost counts each instruction once, however deep it recurses. Without
 * (analyze/hot.h, on all processors), there are only functions with their self costs. Recordings of bare addresses
 * have no calls.
 */
#ifndef TW_COSTS_H
#define TW_COSTS_H

#include "analyze/calls.h"
#include "analyze/hot.h"
#include "report/owners.h"

struct tw_cost_function {
	uint32_t owner; /* its number in the owners */
	const char *name, *module;
	const char *file; /* where it begins; NULL: not known */
	uint32_t line;
	uint64_t address; /* where it begins, in one image */
	const char *why;  /* why it has no name or line; "" */
	int known;        /* 1: named by a symbol */
	struct tw_cost self, inclusive;
	uint64_t calls;
};

/* Code of one line in one function; inlined functions count as functions here. */
struct tw_cost_line {
	const char *function, *module, *file;
	uint32_t line; /* 0: the function's code without lines */
	struct tw_cost self;
	uint64_t pc; /* of its instruction with the most references, */
	uint32_t image;
	uint64_t pc_refs; /* and how many these are */
};

struct tw_costs_options {
	int self_only; /* 1: no calls and lines */
	int no_lines;  /* 1: no lines */
	tw_hot_replay *run;
	void *run_context;
	struct tw_replay_options replay;
};

struct tw_costs {
	struct tw_owners owners;
	struct tw_cost_function *functions; /* by number of the owner */
	size_t n_functions;
	struct tw_cost_line *lines;
	size_t n_lines;
	struct tw_calls calls;
	struct tw_hot hot;
	struct tw_cost totals;
	uint64_t blocks; /* executed, of all; 0: not known */
	int has_calls;
	int has_code; /* 0: imported from bare addresses */
};

/* Fills *out; tw_costs_free in any case. 0 or an enum tw_error. */
int tw_costs_run(const struct tw_recording *r, struct tw_names *names, const struct tw_costs_options *options, struct tw_costs *out);
void tw_costs_free(struct tw_costs *c);

#endif

/*
 * branches: how often each conditional branch was taken, and how often predictors (predictors.h) would have been wrong; where indirect jumps and calls went.
 *
 * Where a block's last instruction led to is known when the thread's next block begins, or where a signal says what it interrupted. Predictors begin anew with each
 * thread, so a state sees whole threads.
 */
#include "analyze/by_fragment.h"
#include "analyze/packed.h"
#include "analyzers/by_place.h"
#include "analyzers/predictors.h"
#include "analyzers/process.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>
#include <trackway/context.h>

/* A branch, or one target of an indirect one. */
struct branch {
	uint64_t pc, target;     /* target 0: a conditional branch */
	uint32_t memory, thread; /* thread: one that ran it */
	uint64_t taken, not_taken;
	uint64_t wrong[TW_PREDICTORS];
};

/* What a block ends with, if that is a conditional branch. */
struct site {
	uint32_t memory; /* whose branch `number` is */
	uint32_t number; /* and 1; 0: not known yet */
};

struct state {
	const struct tw_context *context;
	struct branch *branches;
	size_t n, room;
	uint32_t *slots; /* open hash of their numbers + 1 */
	uint32_t n_slots;
	uint32_t thread, memory;
	/* The block that ended last, if it ended with a branch. */
	const struct tw_descriptor *descriptor;
	unsigned block;
	struct tw_by_fragment sites; /* struct site, by block */
	struct tw_predictors predictors;
};

static void free_state(struct state *s)
{
	free(s->branches);
	free(s->slots);
	tw_by_fragment_free(&s->sites, free);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = arg;
	s->thread = UINT32_MAX;
	return s;
}

/* ---- the table ---- */

static uint32_t place_of(const struct state *s, uint64_t pc, uint64_t target, uint32_t memory)
{
	uint64_t h = ((pc * 0x9e3779b97f4a7c15ull ^ target) * 0xc2b2ae3d27d4eb4full) ^ memory;
	uint32_t i = (uint32_t)(h >> 29) & (s->n_slots - 1);
	for (; s->slots[i]; i = (i + 1) & (s->n_slots - 1)) {
		const struct branch *b = &s->branches[s->slots[i] - 1];
		if (b->pc == pc && b->target == target && b->memory == memory)
			break;
	}
	return i;
}

static int grow(struct state *s)
{
	enum { FIRST = 1024 };
	uint32_t *old = s->slots;
	s->n_slots = s->n_slots ? 2 * s->n_slots : FIRST;
	s->slots = calloc(s->n_slots, sizeof *s->slots);
	for (size_t i = 0; s->slots && i < s->n; i++)
		s->slots[place_of(s, s->branches[i].pc, s->branches[i].target, s->branches[i].memory)] = (uint32_t)i + 1;
	free(old);
	return s->slots != NULL;
}

/* NULL: no memory. */
static struct branch *branch_of(struct state *s, uint64_t pc, uint64_t target, uint32_t memory, uint32_t thread)
{
	if (2 * s->n >= s->n_slots && !grow(s))
		return NULL;
	uint32_t i = place_of(s, pc, target, memory);
	if (s->slots[i])
		return &s->branches[s->slots[i] - 1];
	struct branch *branches = tw_array_room(s->branches, s->n, &s->room, sizeof *branches);
	if (!branches)
		return NULL;
	s->branches = branches;
	branches[s->n] = (struct branch){.pc = pc, .target = target, .memory = memory, .thread = thread};
	s->slots[i] = (uint32_t)++s->n;
	return &branches[s->n - 1];
}

/* ---- outcomes ---- */

/* The address of a block's last instruction. */
static uint64_t last_pc(const struct tw_descriptor *d, unsigned k)
{
	const struct tw_block *b = &tw_descriptor_blocks(d)[k];
	return b->pc + b->bytes - tw_descriptor_insn_bytes(d)[b->first_insn + b->n_insns - 1];
}

/* Of block k. NULL: no memory. */
static struct site *site_of(struct state *s, const struct tw_descriptor *d, unsigned k)
{
	struct site *sites = tw_by_fragment_get(&s->sites, d->number);
	if (sites)
		return &sites[k];
	sites = calloc(d->n_blocks, sizeof *sites);
	if (sites && tw_by_fragment_set(&s->sites, d->number, sites))
		return &sites[k];
	free(sites);
	return NULL;
}

/* The conditional branch that block k ends with. NULL: no memory. */
static struct branch *conditional(struct state *s, const struct tw_descriptor *d, unsigned k)
{
	struct site *site = site_of(s, d, k);
	if (!site || (site->number && site->memory == s->memory))
		return site ? &s->branches[site->number - 1] : NULL;
	struct branch *b = branch_of(s, last_pc(d, k), 0, s->memory, s->thread);
	if (b) {
		site->memory = s->memory;
		site->number = (uint32_t)(b - s->branches) + 1;
	}
	return b;
}

/* What the last block ended with has led to pc. */
static int decide(struct state *s, uint64_t pc)
{
	if (!s->descriptor)
		return 0;
	const struct tw_block *end = &tw_descriptor_blocks(s->descriptor)[s->block];
	struct branch *b = end->end == TW_END_COND ? conditional(s, s->descriptor, s->block)
	                                           : branch_of(s, last_pc(s->descriptor, s->block), pc, s->memory, s->thread);
	s->descriptor = NULL;
	if (!b)
		return TW_ERR_MEMORY;
	int taken = end->end != TW_END_COND || pc == end->target;
	b->taken += (unsigned)taken;
	b->not_taken += !taken;
	unsigned wrong = end->end == TW_END_COND ? tw_predictors_branch(&s->predictors, b->pc, taken) : 0;
	for (int i = 0; wrong >> i; i++)
		b->wrong[i] += wrong >> i & 1;
	return 0;
}

static int take_block(struct state *s, const struct tw_block_run *run)
{
	const struct tw_block *b = &tw_descriptor_blocks(run->descriptor)[run->block];
	if (!run->n_insns)
		return 0;
	int error = decide(s, run->pc);
	int branches = b->end == TW_END_COND || b->end == TW_END_IJUMP || b->end == TW_END_ICALL;
	s->descriptor = branches && run->n_insns == b->n_insns ? run->descriptor : NULL;
	s->block = run->block;
	return error;
}

static int take_event(struct state *s, const struct tw_event *e)
{
	if (e->type == TW_EVENT_SIGNAL)
		return decide(s, ((const struct tw_signal *)e->payload)->pc);
	if (tw_event_breaks(e->type))
		s->descriptor = NULL;
	return 0;
}

static void begin_thread(struct state *s, uint32_t thread)
{
	s->thread = thread;
	s->memory = tw_process_memory(s->context, thread);
	s->descriptor = NULL;
	tw_predictors_init(&s->predictors);
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	size_t event = 0;
	uint32_t k = 0;
	int error = 0;
	if (s->thread != b->thread)
		begin_thread(s, b->thread);
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		for (uint32_t n = 0; n < b->stretches[i]->n_blocks && !error; n++, k++) {
			for (; event < b->n_events && b->events[event].block <= k && !error; event++)
				error = take_event(s, &b->events[event]);
			error = error ? error : take_block(s, &b->stretches[i]->blocks[n]);
		}
	}
	for (; event < b->n_events && !error; event++)
		error = take_event(s, &b->events[event]);
	return error;
}

static int merge(void *state, void *later)
{
	struct state *s = state, *from = later;
	int error = 0;
	for (size_t i = 0; i < from->n && !error; i++) {
		const struct branch *more = &from->branches[i];
		struct branch *b = branch_of(s, more->pc, more->target, more->memory, more->thread);
		if (!b) {
			error = TW_ERR_MEMORY;
			break;
		}
		b->taken += more->taken;
		b->not_taken += more->not_taken;
		for (int k = 0; k < TW_PREDICTORS; k++)
			b->wrong[k] += more->wrong[k];
	}
	free_state(from);
	return error;
}

/* ---- as bytes ---- */

static int pack(const void *state, FILE *to)
{
	const struct state *s = state;
	return tw_pack_array(to, s->branches, s->n, sizeof *s->branches);
}

static int unpack(void *state, FILE *from)
{
	struct state *s = state;
	uint64_t n = 0;
	int error = tw_unpack_number(from, &n);
	for (struct branch item; n && !error; n--) {
		error = tw_unpack_bytes(from, &item, sizeof item);
		struct branch *b = error ? NULL : branch_of(s, item.pc, item.target, item.memory, item.thread);
		if (b)
			*b = item;
		else if (!error)
			error = TW_ERR_MEMORY;
	}
	return error;
}

/* ---- the answer ---- */

/* Conditional branches first, those that TAGE gets wrong most; then targets, by their branch. */
static int by_misses(const void *a, const void *b)
{
	const struct branch *x = a, *y = b;
	if (!x->target != !y->target)
		return x->target ? 1 : -1;
	if (!x->target && x->wrong[TW_TAGE] != y->wrong[TW_TAGE])
		return x->wrong[TW_TAGE] > y->wrong[TW_TAGE] ? -1 : 1;
	if (x->taken + x->not_taken != y->taken + y->not_taken)
		return x->taken + x->not_taken > y->taken + y->not_taken ? -1 : 1;
	if (x->pc != y->pc)
		return x->pc > y->pc ? 1 : -1;
	if (x->target != y->target)
		return x->target > y->target ? 1 : -1;
	return (x->memory > y->memory) - (x->memory < y->memory);
}

static void name_place(struct tw_names *names, const struct branch *b, uint64_t pc, char *to, size_t size)
{
	tw_place_of_code(names, tw_names_image(names, b->thread), pc, to, size);
}

static void print_totals(struct tw_answer *a, const struct state *s)
{
	static const char *const facts[] = {[TW_BIMODAL] = "bimodal_wrong", [TW_GSHARE] = "gshare_wrong", [TW_TAGE] = "tage_wrong"};
	struct branch all = {0};
	uint64_t indirect = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct branch *b = &s->branches[i];
		indirect += b->target ? b->taken : 0;
		all.taken += b->target ? 0 : b->taken;
		all.not_taken += b->not_taken;
		for (int k = 0; k < TW_PREDICTORS; k++)
			all.wrong[k] += b->wrong[k];
	}
	tw_answer_fact(a, "conditional", all.taken + all.not_taken);
	tw_answer_fact(a, "taken", all.taken);
	for (int k = 0; k < TW_PREDICTORS; k++)
		tw_answer_fact(a, facts[k], all.wrong[k]);
	tw_answer_fact(a, "indirect", indirect);
}

static void print_conditional(struct tw_answer *a, const struct state *s, struct tw_names *names)
{
	static const struct tw_column columns[] = {
	    {"executions", TW_COLUMN_COUNT}, {"taken", TW_COLUMN_COUNT},     {"bimodal", TW_COLUMN_COUNT}, {"gshare", TW_COLUMN_COUNT},
	    {"tage", TW_COLUMN_COUNT},       {"address", TW_COLUMN_ADDRESS}, {"place", TW_COLUMN_TEXT},    {NULL, 0}};
	char place[400];
	tw_answer_table(a, "branches", "Conditional branches, and how often predictors are wrong", columns);
	for (size_t i = 0; i < s->n && !s->branches[i].target; i++) {
		const struct branch *b = &s->branches[i];
		name_place(names, b, b->pc, place, sizeof place);
		tw_answer_row(a, (struct tw_cell[]){{.count = b->taken + b->not_taken},
		                                    {.count = b->taken},
		                                    {.count = b->wrong[TW_BIMODAL]},
		                                    {.count = b->wrong[TW_GSHARE]},
		                                    {.count = b->wrong[TW_TAGE]},
		                                    {.count = b->pc},
		                                    {.text = place}});
	}
}

static void print_targets(struct tw_answer *a, const struct state *s, struct tw_names *names)
{
	static const struct tw_column columns[] = {{"executions", TW_COLUMN_COUNT}, {"address", TW_COLUMN_ADDRESS},
	                                           {"target", TW_COLUMN_ADDRESS},   {"from", TW_COLUMN_TEXT},
	                                           {"to", TW_COLUMN_TEXT},          {NULL, 0}};
	char from[400], to[400];
	tw_answer_table(a, "targets", "Targets of indirect jumps and calls", columns);
	for (size_t i = 0; i < s->n; i++) {
		const struct branch *b = &s->branches[i];
		if (!b->target)
			continue;
		name_place(names, b, b->pc, from, sizeof from);
		name_place(names, b, b->target, to, sizeof to);
		tw_answer_row(
		    a, (struct tw_cell[]){{.count = b->taken}, {.count = b->pc}, {.count = b->target}, {.text = from}, {.text = to}});
	}
}

static int end(void *state, int error)
{
	struct state *s = state;
	struct tw_names *names = error ? NULL : tw_context_names(s->context);
	if (!error && !names)
		error = TW_ERR_MEMORY;
	if (!error) {
		struct tw_answer *a = tw_context_answer(s->context);
		if (s->n)
			qsort(s->branches, s->n, sizeof *s->branches, by_misses);
		print_totals(a, s);
		print_conditional(a, s, names);
		print_targets(a, s, names);
	}
	free_state(s);
	return error;
}

const struct tw_analyzer tw_analyzer_branches = {
    .name = "branches",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "branches taken and not, by line, against predictors; indirect targets",
    .help = "Predictors begin anew with each thread. bimodal: 4096 counters of 2 bits;\n"
            "gshare: as many, by address and the last 12 outcomes; TAGE: with the parameters\n"
            "of Seznec and Michaud (2006) for five components. Returns are not counted.\n",
    .needs = TW_NEEDS_FLOW,
    .scope = TW_SCOPE_THREADS,
    .pack_version = 1,
    .pack = pack,
    .unpack = unpack,
};

/*
 * branches: how often each conditional branch was taken; where indirect jumps and calls went; and, if requested, how
 * often predictors (predictors.h) would have been wrong.
 *
 * The target of a block's last instruction is known when the thread's next block starts, or when a signal says what
 * it interrupted. Within a permanent stretch (struct tw_stretch) targets are the same each time: so executions of it
 * are counted (its *way*), and the target of its last block; its branches are computed at the end. Predictors need
 * each outcome in order, and are reset for each thread, so a state sees whole threads.
 */
#include "analyze/batch_walk.h"
#include "analyze/by_fragment.h"
#include "analyze/packed.h"
#include "analyzers/branches_print.h"
#include "analyzers/process.h"
#include "base/array.h"
#include "replay/kept.h"

#include <stdlib.h>
#include <trackway/context.h>

/* What a block ends with, if that is a conditional branch. */
struct site {
	uint32_t memory; /* whose branch `number` is */
	uint32_t number; /* and 1; 0: not known yet */
};

/* A permanent stretch, in the state's memory: what each execution uses. All zeros: not known. */
struct way {
	uint64_t first;  /* address of its first block; 0: take it block by block */
	uint64_t target; /* of a conditional last branch; of an indirect one INDIRECT and its first target, if `led` says so */
	uint64_t led[2]; /* how often it led elsewhere, and to `target` */
};

/* No block starts at an address with this bit, except in the kernel. */
#define INDIRECT (1ull << 63)

/* ...and what the end asks for. */
struct way_end {
	const struct tw_stretch *stretch;
	uint64_t cut;    /* executions after which nothing came; one less if the last one is counted, and its target is still unknown */
	uint32_t thread; /* one that ran it */
	uint8_t end;     /* enum tw_end, if it ends with a branch; else 0 */
};

/* How often the indirect branch at the end of a way has gone to pc, in the state's memory. */
struct led {
	uint64_t pc, n;
	size_t way;
};

/* This many of them are kept, by identity: the most recent ones. */
enum { LED = 2048 };

struct state {
	const struct tw_context *context;
	int predicts;
	struct tw_branches table;
	size_t joined; /* so many there were when memories were joined last */
	uint32_t thread;
	uint32_t memory;      /* tw_process_program_yet */
	uint64_t next_insn;   /* of the thread: the number of the one that the next batch begins with, if no code was left out */
	struct way *ways;     /* by the stretch's number */
	struct way_end *ends; /* likewise */
	size_t ways_room, ends_room;
	uint32_t *known; /* numbers of the ways that are */
	size_t n_known, known_room;
	size_t way; /* the one that ended last; 0: none. Or */
	/* the block that did. */
	const struct tw_descriptor *descriptor;
	unsigned block;
	struct tw_by_fragment sites; /* struct site, by block */
	struct tw_predictors predictors;
	struct led led[LED]; /* besides what ways themselves have */
};

static void free_state(struct state *s)
{
	tw_branches_free(&s->table);
	free(s->ways);
	free(s->ends);
	free(s->known);
	tw_by_fragment_free(&s->sites, free);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->context = arg;
	s->predicts = tw_context_flag(arg, "predictors");
	s->thread = UINT32_MAX;
	return s;
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
static struct tw_branch *conditional(struct state *s, const struct tw_descriptor *d, unsigned k)
{
	struct site *site = site_of(s, d, k);
	if (!site || (site->number && site->memory == s->memory))
		return site ? &s->table.items[site->number - 1] : NULL;
	struct tw_branch *b = tw_branches_of(&s->table, last_pc(d, k), 0, s->memory, s->thread);
	if (b) {
		site->memory = s->memory;
		site->number = (uint32_t)(b - s->table.items) + 1;
	}
	return b;
}

/* What the last block ended with has led to pc. */
static int decide(struct state *s, uint64_t pc)
{
	if (!s->descriptor)
		return 0;
	const struct tw_block *end = &tw_descriptor_blocks(s->descriptor)[s->block];
	struct tw_branch *b = end->end == TW_END_COND
	                          ? conditional(s, s->descriptor, s->block)
	                          : tw_branches_of(&s->table, last_pc(s->descriptor, s->block), pc, s->memory, s->thread);
	s->descriptor = NULL;
	if (!b)
		return TW_ERR_MEMORY;
	int taken = end->end != TW_END_COND || pc == end->target;
	b->taken += (unsigned)taken;
	b->not_taken += !taken;
	unsigned wrong = s->predicts && end->end == TW_END_COND ? tw_predictors_branch(&s->predictors, b->pc, taken) : 0;
	for (int i = 0; wrong >> i; i++)
		b->wrong[i] += wrong >> i & 1;
	return 0;
}

/* ---- ways ---- */

static int is_branch(uint8_t end)
{
	return end == TW_END_COND || end == TW_END_IJUMP || end == TW_END_ICALL;
}

static const struct tw_block *code_of(const struct tw_block_run *run)
{
	return &tw_descriptor_blocks(run->descriptor)[run->block];
}

/* The end of the block; 0: no branch, or it was not reached. */
static uint8_t end_of(const struct tw_block_run *run)
{
	const struct tw_block *b = code_of(run);
	return run->n_insns == b->n_insns && is_branch(b->end) ? b->end : 0;
}

/* The branch at the end of a way's block has gone to pc n times. */
static int add_outcomes(struct state *s, const struct way_end *w, const struct tw_block_run *run, uint64_t pc, uint64_t n)
{
	const uint8_t end = n ? end_of(run) : 0;
	if (!end)
		return 0;
	struct tw_branch *b =
	    tw_branches_of(&s->table, last_pc(run->descriptor, run->block), end == TW_END_COND ? 0 : pc, s->memory, w->thread);
	if (!b)
		return TW_ERR_MEMORY;
	if (end != TW_END_COND || pc == code_of(run)->target)
		b->taken += n;
	else
		b->not_taken += n;
	return 0;
}

static const struct tw_block_run *last_of(const struct way_end *w)
{
	return &w->stretch->blocks[w->stretch->n_blocks - 1];
}

/* Targets of the last branch of a way: of an indirect one the first target. */
static int settle_end(struct state *s, const struct way *w, const struct way_end *e)
{
	const uint64_t target = w->target & ~INDIRECT;
	int error = add_outcomes(s, e, last_of(e), target, w->led[1]);
	return error || e->end != TW_END_COND ? error : add_outcomes(s, e, last_of(e), ~target, w->led[0]);
}

static int settle_one(struct state *s, struct led *l)
{
	const struct way_end *w = &s->ends[l->way];
	int error = l->n ? add_outcomes(s, w, last_of(w), l->pc, l->n) : 0;
	l->n = 0;
	return error;
}

static int settle_led(struct state *s)
{
	int error = 0;
	for (size_t i = 0; i < LED && !error; i++)
		error = settle_one(s, &s->led[i]);
	return error;
}

/* All that was counted of a way goes to the table. */
static int settle_way(struct state *s, struct way *w, struct way_end *e)
{
	const uint64_t is_last = w == &s->ways[s->way];
	const uint64_t n = w->led[0] + w->led[1] + e->cut + is_last;
	int error = settle_end(s, w, e);
	for (uint32_t i = 0; i + 1 < e->stretch->n_blocks && !error; i++)
		error = add_outcomes(s, e, &e->stretch->blocks[i], e->stretch->blocks[i + 1].pc, n);
	w->led[0] = w->led[1] = 0;
	e->cut = 0 - is_last;
	return error;
}

static int settle(struct state *s)
{
	int error = settle_led(s);
	for (size_t i = 0; i < s->n_known && !error; i++)
		error = settle_way(s, &s->ways[s->known[i]], &s->ends[s->known[i]]);
	return error;
}

/* What comes is of another memory. */
static int forget_ways(struct state *s)
{
	int error = settle(s);
	for (size_t i = 0; i < s->n_known; i++)
		s->ways[s->known[i]] = (struct way){0};
	s->n_known = 0;
	return error;
}

/* Records that carry references only are not executions, and addresses of the kernel's cannot be kept. */
static int is_slow(const struct tw_stretch *stretch)
{
	for (uint32_t i = 0; i < stretch->n_blocks; i++)
		if (!stretch->blocks[i].n_insns)
			return 1;
	return !stretch->n_blocks || stretch->blocks->pc & INDIRECT;
}

/* Makes the way of a stretch that has a number, unless it is slow. 0 or TW_ERR_MEMORY. */
static int make_way(struct state *s, const struct tw_stretch *stretch)
{
	const uint32_t number = stretch->number;
	struct way *ways = tw_array_zeros(s->ways, number, &s->ways_room, sizeof *ways);
	s->ways = ways ? ways : s->ways;
	struct way_end *ends = tw_array_zeros(s->ends, number, &s->ends_room, sizeof *ends);
	s->ends = ends ? ends : s->ends;
	uint32_t *known = tw_array_room(s->known, s->n_known, &s->known_room, sizeof *known);
	s->known = known ? known : s->known;
	if (!ways || !ends || !known)
		return TW_ERR_MEMORY;
	if (is_slow(stretch))
		return 0;
	const struct tw_block_run *last = &stretch->blocks[stretch->n_blocks - 1];
	const uint8_t end = end_of(last);
	ways[number] = (struct way){.first = stretch->blocks->pc,
	                            .target = end == TW_END_COND ? code_of(last)->target
	                                      : end              ? INDIRECT
	                                                         : 0};
	ends[number] = (struct way_end){.stretch = stretch, .thread = s->thread, .end = end};
	known[s->n_known++] = number;
	return 0;
}

/* The indirect branch at the end of a way has gone to pc, which is not its first target. */
static int lead_elsewhere(struct state *s, struct way *w, uint64_t pc)
{
	const size_t way = (size_t)(w - s->ways);
	struct led *l = &s->led[(pc * 0x9e3779b97f4a7c15ull + way * 0xc2b2ae3d27d4eb4full) >> 40 & (LED - 1)];
	int error = 0;
	if (!w->led[1]) {
		w->target = pc | INDIRECT;
		w->led[1] = 1;
		return 0;
	}
	if (l->pc != pc || l->way != way) {
		error = settle_one(s, l);
		*l = (struct led){.pc = pc, .way = way};
	}
	l->n++;
	w->led[0]++;
	return error;
}

/*
 * A way has led to pc, which is not the kernel's. Counts conditional outcomes without a branch here: one would be
 * mispredicted as often as theirs.
 */
static inline int lead_way(struct state *s, struct way *w, uint64_t pc)
{
	const uint64_t differs = pc ^ w->target;
	const int is_there = !(differs & ~INDIRECT);
	if (__builtin_expect(differs & INDIRECT && !is_there, 0))
		return lead_elsewhere(s, w, pc);
	w->led[is_there]++;
	return 0;
}

/* What ended last did so where nothing has come of it. */
static void cut_way(struct state *s)
{
	if (s->way)
		s->ends[s->way].cut++;
	s->way = 0;
}

/* Nothing is known of what ended last. */
static void forget(struct state *s)
{
	s->descriptor = NULL;
	cut_way(s);
}

/* The last block of the way that ended last is a block that did. */
static void leave_way(struct state *s)
{
	const struct tw_block_run *run = last_of(&s->ends[s->way]);
	s->descriptor = end_of(run) ? run->descriptor : NULL;
	s->block = run->block;
	cut_way(s);
}

/* What ended last has led to pc. */
static int lead(struct state *s, uint64_t pc)
{
	if (s->way && pc & INDIRECT)
		leave_way(s);
	if (!s->way)
		return decide(s, pc);
	struct way *last = &s->ways[s->way];
	s->way = 0;
	return lead_way(s, last, pc);
}

/* ---- batches ---- */

static int take_block(struct state *s, const struct tw_block_run *run)
{
	if (!run->n_insns)
		return 0;
	int error = lead(s, run->pc);
	s->descriptor = end_of(run) ? run->descriptor : NULL;
	s->block = run->block;
	return error;
}

static int take_event(struct state *s, const struct tw_event *e)
{
	if (e->type == TW_EVENT_SIGNAL)
		return lead(s, ((const struct tw_signal *)e->payload)->pc);
	if (tw_event_breaks(e->type))
		forget(s);
	return 0;
}

static int begin_thread(struct state *s, uint32_t thread)
{
	const uint32_t memory = tw_process_program_yet(s->context, thread);
	forget(s);
	const int error = memory != s->memory ? forget_ways(s) : 0;
	s->thread = thread;
	s->memory = memory;
	if (s->predicts)
		tw_predictors_init(&s->predictors);
	return error;
}

static int take_events(struct state *s, struct tw_batch_walk *w)
{
	const struct tw_event *event;
	int error = 0;
	while (!error && (event = tw_batch_walk_event(w)))
		error = take_event(s, event);
	return error;
}

static int take_blocks(struct state *s, struct tw_batch_walk *w, const struct tw_stretch *stretch)
{
	int error = 0;
	for (uint32_t n = 0; n < stretch->n_blocks && !error; n++, w->block++) {
		error = take_events(s, w);
		error = error ? error : take_block(s, &stretch->blocks[n]);
	}
	return error;
}

/* The way of a stretch, made if not known; NULL: take it block by block. */
static struct way *way_of(struct state *s, const struct tw_stretch *stretch, int *error)
{
	if (!stretch->number || s->predicts)
		return NULL;
	if (stretch->number >= s->ways_room || !s->ways[stretch->number].first)
		*error = make_way(s, stretch);
	return !*error && s->ways[stretch->number].first ? &s->ways[stretch->number] : NULL;
}

static int take_stretch(struct state *s, struct tw_batch_walk *w, const struct tw_stretch *stretch)
{
	int error = 0;
	const struct way *way = tw_batch_walk_has_events(w, stretch) ? NULL : way_of(s, stretch, &error);
	if (error || !way)
		return error ? error : take_blocks(s, w, stretch);
	error = lead(s, way->first);
	w->block += stretch->n_blocks;
	s->way = stretch->number;
	return error;
}

/* Takes the stretches from i on, after a way has ended and the last event, as long as their ways are known. Returns how many. */
static size_t follow(struct state *s, const struct tw_batch *b, size_t i, int *error)
{
	enum { AHEAD = 8 };
	const struct tw_kept_stretches kept = tw_kept_stretches(b);
	const struct tw_stretch *const *stretches = b->stretches;
	struct way *ways = s->ways, *last = &ways[s->way];
	const size_t room = s->ways_room, first = i, n = b->n_stretches;
	for (; i < n; i++) {
		const uint32_t number = tw_kept_number(&kept, stretches[i]);
		if (i + AHEAD < n) {
			const uint32_t ahead = tw_kept_number(&kept, stretches[i + AHEAD]);
			__builtin_prefetch(ahead < room ? &ways[ahead] : ways, 1);
		}
		struct way *way = number < room ? &ways[number] : ways;
		if (!way->first || *error)
			break;
		*error = lead_way(s, last, way->first);
		last = way;
	}
	s->way = (size_t)(last - ways);
	return i - first;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	struct tw_batch_walk w = {.b = b};
	int error = 0;
	if (s->thread != b->thread)
		error = begin_thread(s, b->thread);
	else if (s->next_insn != b->first_insn)
		forget(s);
	s->next_insn = b->first_insn + b->n_insns;
	for (size_t i = 0; i < b->n_stretches && !error;) {
		const size_t n = s->way && w.event == b->n_events ? follow(s, b, i, &error) : 0;
		i += n;
		if (!n)
			error = take_stretch(s, &w, b->stretches[i++]);
	}
	return error ? error : take_events(s, &w);
}

/* More threads are known now: merges branches whose memory is the same according to `memory_of`. */
static int join_memories(struct state *s, uint32_t (*memory_of)(const struct tw_context *c, uint32_t thread))
{
	struct tw_branches all = s->table;
	uint32_t thread = UINT32_MAX, memory = 0;
	int error = 0;
	tw_by_fragment_free(&s->sites, free); /* which has their numbers */
	s->table = (struct tw_branches){0};
	for (size_t i = 0; i < all.n && !error; i++) {
		if (all.items[i].thread != thread)
			memory = memory_of(s->context, thread = all.items[i].thread);
		error = tw_branches_add(&s->table, &all.items[i], memory);
	}
	tw_branches_free(&all);
	return error;
}

static int merge(void *state, void *later)
{
	enum { MANY = 1 << 16 };
	struct state *s = state, *from = later;
	int error = settle(from);
	for (size_t i = 0; i < from->table.n && !error; i++)
		error = tw_branches_add(&s->table, &from->table.items[i], from->table.items[i].memory);
	free_state(from);
	if (!error && s->table.n > 2 * s->joined + MANY) {
		error = join_memories(s, tw_process_program_yet);
		s->joined = s->table.n;
	}
	return error;
}

/* ---- as bytes ---- */

static int pack(const void *state, FILE *to)
{
	struct state *s = (struct state *)state; /* what is counted moves within it */
	int error = settle(s);
	return error ? error : tw_pack_array(to, s->table.items, s->table.n, sizeof *s->table.items);
}

static int unpack(void *state, FILE *from)
{
	struct state *s = state;
	uint64_t n = 0;
	int error = tw_unpack_number(from, &n);
	for (struct tw_branch item; n && !error; n--) {
		error = tw_unpack_bytes(from, &item, sizeof item);
		struct tw_branch *b = error ? NULL : tw_branches_of(&s->table, item.pc, item.target, item.memory, item.thread);
		if (b)
			*b = item;
		else if (!error)
			error = TW_ERR_MEMORY;
	}
	return error;
}

static int end(void *state, int error)
{
	struct state *s = state;
	struct tw_names *names = error ? NULL : tw_context_names(s->context);
	if (!error && !names)
		error = TW_ERR_MEMORY;
	error = error ? error : settle(s);
	error = error ? error : join_memories(s, tw_process_memory);
	if (!error)
		tw_branches_print(tw_context_answer(s->context), &s->table, names, s->predicts);
	free_state(s);
	return error;
}

static const struct tw_option options[] = {
    {"predictors", TW_OPTION_FLAG, NULL, NULL, "also show how often three predictors would have been wrong; takes several times as long"},
    {NULL, 0, NULL, NULL, NULL},
};

const struct tw_analyzer tw_analyzer_branches = {
    .name = "branches",
    .begin = begin,
    .batch = batch,
    .merge = merge,
    .end = end,
    .what = "branch directions by line, indirect targets, predictors",
    .help = "Predictors start empty in each thread. bimodal: 4096 two-bit counters; gshare:\n"
            "as many, indexed by address and the last 12 outcomes; TAGE: five components,\n"
            "with the parameters of Seznec and Michaud (2006). Returns are not counted.\n",
    .options = options,
    .needs = TW_NEEDS_FLOW | TW_WANTS_NO_REFS | TW_WANTS_NO_ADDRESSES,
    .scope = TW_SCOPE_THREADS,
    .pack_version = 2,
    .pack = pack,
    .unpack = unpack,
};

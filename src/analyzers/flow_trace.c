#include "analyzers/flow_trace.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

/* What is known of a fragment's blocks, in one image, and how often they ran. */
struct code {
	const struct tw_descriptor *descriptor;
	uint32_t image, thread;
	uint64_t *partial; /* of each instruction, executions in blocks that were stopped before their end; NULL: there were none */
	struct {
		uint64_t file, start, end; /* end: the last instruction */
		uint64_t n;                /* executions from start to end */
	} block[];
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ (b * 0x9e3779b97f4a7c15ull)) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

static uint64_t hash_text(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3ull;
	return h;
}

uint64_t tw_flow_sequence(uint32_t thread, uint64_t file)
{
	return mix(file, thread + 1ull);
}

/* ---- places ---- */

/* The number of an instruction, by which it can be looked up later; 0: no memory. */
static uint64_t place_of(struct tw_flow_trace *t, uint64_t pc, uint64_t *file)
{
	struct tw_code_name name;
	tw_names_code(t->source->names, t->image, pc, &name);
	*file = hash_text(name.module);
	uint64_t place = mix(*file, name.vaddr) | 1, *counts;
	t->places.width = TW_FLOW_PLACE_COUNTS;
	counts = tw_rows_at(&t->places, place, 0);
	if (!counts)
		return 0;
	counts[TW_FLOW_PC] = pc;
	counts[TW_FLOW_THREAD] = t->thread;
	return place;
}

static uint64_t last_pc(const struct tw_descriptor *d, const struct tw_block *b)
{
	return b->pc + b->bytes - tw_descriptor_insn_bytes(d)[b->first_insn + b->n_insns - 1];
}

static struct code *new_code(struct tw_flow_trace *t, const struct tw_descriptor *d)
{
	struct code *c = calloc(1, sizeof *c + d->n_blocks * sizeof c->block[0]);
	if (!c || !tw_by_fragment_set(&t->fragments, d->number, c)) {
		free(c);
		return NULL;
	}
	c->descriptor = d;
	return c;
}

/* NULL: no memory. */
static struct code *code_of(struct tw_flow_trace *t, const struct tw_descriptor *d)
{
	struct code *c = tw_by_fragment_get(&t->fragments, d->number);
	uint64_t file;
	if (c && c->image == t->image)
		return c;
	c = c ? c : new_code(t, d);
	for (unsigned k = 0; c && k < d->n_blocks; k++) {
		const struct tw_block *b = &tw_descriptor_blocks(d)[k];
		c->block[k].start = place_of(t, b->pc, &c->block[k].file);
		c->block[k].end = place_of(t, last_pc(d, b), &file);
		if (!c->block[k].start || !c->block[k].end)
			return NULL;
	}
	if (c) {
		c->image = t->image;
		c->thread = t->thread;
	}
	return c;
}

/* ---- runs ---- */

static int keep_run(const struct tw_flow_trace *t, uint64_t number, uint64_t end)
{
	for (size_t i = 0; i < t->source->n_wanted; i++) {
		struct tw_flow_wanted *w = &t->source->wanted[i];
		if (w->thread != t->thread || w->file != t->file || number < w->first || number - w->first >= TW_FLOW_STEP)
			continue;
		struct tw_flow_run *runs = tw_array_room(w->runs, w->n, &w->room, sizeof *runs);
		if (!runs)
			return TW_ERR_MEMORY;
		w->runs = runs;
		runs[w->n++] = (struct tw_flow_run){t->start, end, t->insn};
	}
	return 0;
}

static int note_run(struct tw_flow_trace *t, uint64_t end)
{
	t->sequences.width = TW_FLOW_SEQUENCE_COUNTS;
	t->checkpoints.width = 1;
	uint64_t *sequence = tw_rows_at(&t->sequences, t->thread, t->file);
	if (!sequence)
		return TW_ERR_MEMORY;
	uint64_t number = sequence[TW_FLOW_RUNS]++;
	sequence[TW_FLOW_HASH] = mix(sequence[TW_FLOW_HASH], mix(t->start, end));
	if (t->source->n_wanted)
		return keep_run(t, number, end);
	if ((number + 1) % TW_FLOW_STEP)
		return 0;
	uint64_t *checkpoint = tw_rows_at(&t->checkpoints, tw_flow_sequence(t->thread, t->file), (number + 1) / TW_FLOW_STEP);
	if (!checkpoint)
		return TW_ERR_MEMORY;
	*checkpoint = sequence[TW_FLOW_HASH];
	return 0;
}

/* A block begins that `last` led to, if it did. */
static int arrive(struct tw_flow_trace *t, uint64_t start, uint64_t file, uint64_t insn)
{
	t->edges.width = 1;
	uint64_t *edge = t->last && !t->source->n_wanted ? tw_rows_at(&t->edges, t->last, start) : NULL;
	if (edge)
		++*edge;
	int error = t->last && !t->source->n_wanted && !edge ? TW_ERR_MEMORY : 0;
	t->start = start;
	t->file = file;
	t->insn = insn;
	t->last = 0;
	return error;
}

static int count_partial(struct code *c, unsigned first, unsigned n)
{
	if (!c->partial)
		c->partial = calloc(c->descriptor->n_insns, sizeof *c->partial);
	if (!c->partial)
		return TW_ERR_MEMORY;
	for (unsigned i = 0; i < n; i++)
		c->partial[first + i]++;
	return 0;
}

static int take_block(struct tw_flow_trace *t, const struct tw_block_run *run, uint64_t insn)
{
	const struct tw_block *b = &tw_descriptor_blocks(run->descriptor)[run->block];
	struct code *c = code_of(t, run->descriptor);
	int whole = run->n_insns == b->n_insns;
	int error = c ? 0 : TW_ERR_MEMORY;
	if (!error && !t->start)
		error = arrive(t, c->block[run->block].start, c->block[run->block].file, insn);
	if (error)
		return error;
	if (!whole)
		return count_partial(c, b->first_insn, run->n_insns);
	c->block[run->block].n++;
	if (b->end == TW_END_FALL)
		return 0;
	error = note_run(t, c->block[run->block].end);
	t->last = c->block[run->block].end;
	t->start = 0;
	return error;
}

/* ---- batches ---- */

static void begin_thread(struct tw_flow_trace *t, uint32_t thread)
{
	t->follows = 1;
	t->thread = thread;
	t->image = tw_names_image(t->source->names, thread);
	t->start = t->last = 0;
}

/* What a signal interrupted goes on as a run of its own. */
static void take_event(struct tw_flow_trace *t, const struct tw_event *e)
{
	if (e->type == TW_EVENT_SIGNAL || e->type == TW_EVENT_SIGRETURN || tw_event_breaks(e->type))
		t->start = t->last = 0;
}

int tw_flow_trace_batch(struct tw_flow_trace *t, const struct tw_batch *b)
{
	uint64_t insn = b->first_insn;
	size_t event = 0, k = 0;
	int error = 0;
	if (!t->follows || b->thread != t->thread || insn != t->next)
		begin_thread(t, b->thread);
	t->next = insn + b->n_insns;
	t->insns += b->n_insns;
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		const struct tw_block_run *run = b->stretches[i]->blocks, *end = run + b->stretches[i]->n_blocks;
		for (; run < end && !error; insn += run++->n_insns, k++) {
			for (; event < b->n_events && b->events[event].block <= k; event++)
				take_event(t, &b->events[event]);
			error = run->n_insns ? take_block(t, run, insn) : 0;
		}
	}
	for (; event < b->n_events; event++)
		take_event(t, &b->events[event]);
	return error;
}

/* ---- merging, and what was counted ---- */

static int merge_places(struct tw_flow_trace *t, const struct tw_flow_trace *later)
{
	t->places.width = TW_FLOW_PLACE_COUNTS;
	for (size_t i = 0; i < later->places.n; i++) {
		uint64_t *to = tw_rows_at(&t->places, tw_rows_key(&later->places, i)[0], 0);
		if (!to)
			return TW_ERR_MEMORY;
		memcpy(to, tw_rows_counts(&later->places, i), TW_FLOW_PLACE_COUNTS * sizeof *to);
	}
	return 0;
}

static int merge_code(void *context, void *item)
{
	struct tw_flow_trace *t = context;
	const struct code *from = item;
	const struct tw_descriptor *d = from->descriptor;
	struct code *to = tw_by_fragment_get(&t->fragments, d->number);
	if (!to) {
		to = new_code(t, d);
		if (!to)
			return TW_ERR_MEMORY;
		memcpy(to, from, sizeof *to + d->n_blocks * sizeof to->block[0]);
		to->partial = NULL;
	} else {
		for (unsigned k = 0; k < d->n_blocks; k++)
			to->block[k].n += from->block[k].n;
	}
	if (from->partial && !to->partial)
		to->partial = calloc(d->n_insns, sizeof *to->partial);
	for (unsigned i = 0; from->partial && to->partial && i < d->n_insns; i++)
		to->partial[i] += from->partial[i];
	return from->partial && !to->partial ? TW_ERR_MEMORY : 0;
}

int tw_flow_trace_merge(struct tw_flow_trace *t, const struct tw_flow_trace *later)
{
	t->sequences.width = TW_FLOW_SEQUENCE_COUNTS;
	t->checkpoints.width = t->edges.width = 1;
	int error = tw_rows_merge(&t->sequences, &later->sequences); /* no thread is in both */
	error = error ? error : tw_rows_merge(&t->checkpoints, &later->checkpoints);
	error = error ? error : tw_rows_merge(&t->edges, &later->edges);
	error = error ? error : merge_places(t, later);
	t->insns += later->insns;
	return error ? error : tw_by_fragment_each(&later->fragments, merge_code, t);
}

/* For tw_flow_insns. */
struct visit {
	int (*f)(void *context, uint32_t thread, uint64_t pc, uint64_t n);
	void *context;
};

static int visit_code(void *context, void *item)
{
	const struct visit *v = context;
	const struct code *c = item;
	const uint8_t *bytes = tw_descriptor_insn_bytes(c->descriptor);
	int error = 0;
	for (unsigned k = 0; k < c->descriptor->n_blocks; k++) {
		const struct tw_block *b = &tw_descriptor_blocks(c->descriptor)[k];
		uint64_t pc = b->pc;
		for (unsigned i = b->first_insn; i < (unsigned)b->first_insn + b->n_insns && !error; pc += bytes[i++]) {
			uint64_t n = c->block[k].n + (c->partial ? c->partial[i] : 0);
			error = n ? v->f(v->context, c->thread, pc, n) : 0;
		}
	}
	return error;
}

int tw_flow_insns(const struct tw_flow_trace *t, int (*f)(void *context, uint32_t thread, uint64_t pc, uint64_t n), void *context)
{
	struct visit v = {f, context};
	return tw_by_fragment_each(&t->fragments, visit_code, &v);
}

static void free_code(void *item)
{
	struct code *c = item;
	free(c->partial);
	free(c);
}

void tw_flow_trace_free(struct tw_flow_trace *t)
{
	tw_by_fragment_free(&t->fragments, free_code);
	tw_rows_free(&t->sequences);
	tw_rows_free(&t->checkpoints);
	tw_rows_free(&t->edges);
	tw_rows_free(&t->places);
}

#include "analyze/hot.h"
#include "analyze/by_fragment.h"
#include "analyze/profile.h"
#include "base/array.h"
#include "replay/slots.h"

#include <stdlib.h>
#include <string.h>

/* Counters of one fragment, one for each of its blocks. */
struct fragment {
	const struct tw_descriptor *descriptor;
	uint32_t image;
	struct tw_hot_counts block[];
};

/* What all states share. */
struct shared {
	const struct tw_recording *recording;
	struct tw_hot *out;
};

/* A stretch that stays, by its number: it is counted whole. */
struct counted {
	const struct tw_stretch *stretch; /* NULL: it has not been executed */
	uint64_t times;
};

/* The state of the analyzer. */
struct state {
	const struct shared *shared;
	struct counted *counted;
	size_t counted_room;
	size_t n_blocks;
	uint32_t thread, image; /* of the batch */
	struct tw_by_fragment fragments;
};

void tw_hot_add(struct tw_hot_counts *to, const struct tw_hot_counts *more)
{
	to->executions += more->executions;
	to->insns += more->insns;
	to->refs += more->refs;
	to->reads += more->reads;
	to->writes += more->writes;
}

static void free_state(struct state *s)
{
	tw_by_fragment_free(&s->fragments, free);
	free(s->counted);
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->shared = arg;
	s->thread = UINT32_MAX;
	return s;
}

static struct fragment *new_fragment(struct state *s, const struct tw_descriptor *d, uint32_t image)
{
	struct fragment *f = calloc(1, sizeof *f + d->n_blocks * sizeof f->block[0]);
	if (!f || !tw_by_fragment_set(&s->fragments, d->number, f)) {
		free(f);
		return NULL;
	}
	f->descriptor = d;
	f->image = image;
	s->n_blocks += d->n_blocks;
	return f;
}

static inline struct fragment *fragment_of(struct state *s, const struct tw_descriptor *d, uint32_t image)
{
	struct fragment *f = tw_by_fragment_get(&s->fragments, d->number);
	return f ? f : new_fragment(s, d, image);
}

static void find_image(struct state *s, uint32_t thread)
{
	const struct tw_recording *r = s->shared->recording;
	s->thread = thread;
	s->image = tw_profile_image_of_thread(r, tw_recording_find_thread(r, thread));
}

static void add_refs(struct tw_hot_counts *c, const struct tw_ref_shape *r, const struct tw_ref_shape *end, uint64_t times)
{
	c->refs += (uint64_t)(end - r) * times;
	for (; r < end; r++) {
		c->reads += (r->type & TW_READ) * times;
		c->writes += (uint64_t)(r->type >> 1) * times;
	}
}

/* Where the references of the first block begin. */
static uint32_t leading(const struct tw_stretch *stretch)
{
	return stretch->n_blocks ? stretch->blocks[0].first_ref : stretch->n_refs;
}

/* The blocks of a stretch and their references, executed `times` times. */
static int add_blocks(struct state *s, const struct tw_stretch *stretch, uint64_t times)
{
	for (uint32_t i = 0; i < stretch->n_blocks; i++) {
		const struct tw_block_run *run = &stretch->blocks[i];
		const uint32_t end = i + 1 < stretch->n_blocks ? stretch->blocks[i + 1].first_ref : stretch->n_refs;
		struct fragment *f = fragment_of(s, run->descriptor, s->image);
		if (!f)
			return TW_ERR_MEMORY;
		struct tw_hot_counts *c = &f->block[run->block];
		c->executions += run->n_insns ? times : 0;
		c->insns += run->n_insns * times;
		add_refs(c, stretch->refs + run->first_ref, stretch->refs + end, times);
	}
	return 0;
}

/* The counts of the last block of a stretch. NULL: no memory. */
static struct tw_hot_counts *last_counts(struct state *s, const struct tw_stretch *stretch)
{
	const struct tw_block_run *run = &stretch->blocks[stretch->n_blocks - 1];
	struct fragment *f = fragment_of(s, run->descriptor, s->image);
	return f ? &f->block[run->block] : NULL;
}

/* Its fragments are created the first time, so that their image is that of the thread that ran them first. */
static int count_whole(struct state *s, const struct tw_stretch *stretch)
{
	if (stretch->number >= s->counted_room) {
		struct counted *counted = tw_array_zeros(s->counted, stretch->number, &s->counted_room, sizeof *counted);
		if (!counted)
			return TW_ERR_MEMORY;
		s->counted = counted;
	}
	struct counted *c = &s->counted[stretch->number];
	c->times++;
	if (c->stretch)
		return 0;
	c->stretch = stretch;
	return add_blocks(s, stretch, 0);
}

/* `*newest` is the stretch with the last block begun: references before the stretch's first block belong to that block. */
static int take_stretch(struct state *s, const struct tw_stretch *stretch, const struct tw_stretch **newest)
{
	const int whole = stretch->number && stretch->reserved != TW_SLOT_ASK; /* it says itself that it begins with a block */
	const uint32_t lead = whole ? 0 : leading(stretch);
	if (lead) {
		struct tw_hot_counts *c = last_counts(s, *newest);
		if (!c)
			return TW_ERR_MEMORY;
		add_refs(c, stretch->refs, stretch->refs + lead, 1);
	}
	if (stretch->n_blocks)
		*newest = stretch;
	return stretch->number ? count_whole(s, stretch) : add_blocks(s, stretch, 1);
}

/* What stretches have been counted, to their blocks. */
static int settle(struct state *s)
{
	int error = 0;
	for (size_t i = 0; i < s->counted_room && !error; i++)
		if (s->counted[i].times)
			error = add_blocks(s, s->counted[i].stretch, s->counted[i].times);
	free(s->counted);
	s->counted = NULL;
	s->counted_room = 0;
	return error;
}

/* Where a kept stretch is counted; NULL: no room for it yet. */
static inline const struct counted *counted_of(const struct state *s, const struct tw_stretch *stretch)
{
	return stretch->number < s->counted_room ? &s->counted[stretch->number] : NULL;
}

static int batch(void *state, const struct tw_batch *b)
{
	enum { AHEAD = 16 };
	struct state *s = state;
	const struct tw_stretch *newest = NULL; /* a batch with references begins with a block */
	int error = 0;
	if (s->thread != b->thread)
		find_image(s, b->thread);
	for (size_t i = 0; i < b->n_stretches && !error; i++) {
		if (i + 2 * AHEAD < b->n_stretches) {
			__builtin_prefetch(b->stretches[i + 2 * AHEAD]);
			__builtin_prefetch(counted_of(s, b->stretches[i + AHEAD]), 1);
		}
		error = take_stretch(s, b->stretches[i], &newest);
	}
	return error;
}

static int merge_fragment(void *state, void *item)
{
	const struct fragment *from = item;
	struct fragment *to = fragment_of(state, from->descriptor, from->image);
	for (unsigned i = 0; to && i < from->descriptor->n_blocks; i++)
		tw_hot_add(&to->block[i], &from->block[i]);
	return to ? 0 : TW_ERR_MEMORY;
}

static int merge(void *state, void *later)
{
	struct state *from = later;
	int error = settle(from);
	if (!error)
		error = tw_by_fragment_each(&from->fragments, merge_fragment, state);
	free_state(from);
	return error;
}

static int take_fragment(void *out, void *item)
{
	struct tw_hot *hot = out;
	const struct fragment *f = item;
	const struct tw_block *b = tw_descriptor_blocks(f->descriptor);
	for (unsigned i = 0; i < f->descriptor->n_blocks; i++) {
		hot->blocks[hot->n_blocks++] = (struct tw_hot_block){b[i].pc, f->image, i, f->descriptor, f->block[i]};
		tw_hot_add(&hot->totals, &f->block[i]);
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct tw_hot_block *x = a, *y = b;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

/* Makes one of blocks that stand at the same place. */
static void join_blocks(struct tw_hot *hot)
{
	size_t n = 0;
	qsort(hot->blocks, hot->n_blocks, sizeof *hot->blocks, by_place);
	for (size_t i = 0; i < hot->n_blocks; i++) {
		struct tw_hot_block *b = &hot->blocks[i];
		if (!b->counts.executions && !b->counts.refs)
			continue;
		if (n && !by_place(&hot->blocks[n - 1], b))
			tw_hot_add(&hot->blocks[n - 1].counts, &b->counts);
		else
			hot->blocks[n++] = *b;
	}
	hot->n_blocks = n;
}

static int end(void *state, int error)
{
	struct state *s = state;
	struct tw_hot *hot = s->shared->out;
	if (!error)
		error = settle(s);
	if (!error) {
		hot->blocks = malloc((s->n_blocks + 1) * sizeof *hot->blocks);
		error = hot->blocks ? 0 : TW_ERR_MEMORY;
	}
	if (!error) {
		tw_by_fragment_each(&s->fragments, take_fragment, hot);
		join_blocks(hot);
	}
	free_state(s);
	return error;
}

int tw_hot_run_by(tw_hot_replay *run, void *run_context, const struct tw_recording *r, const struct tw_replay_options *options,
                  struct tw_hot *out)
{
	static const struct tw_analyzer hot = {
	    .name = "hot", .begin = begin, .batch = batch, .merge = merge, .end = end, .needs = TW_WANTS_NO_ADDRESSES};
	memset(out, 0, sizeof *out);
	struct shared shared = {r, out};
	return run(run_context, r, options, &hot, &shared);
}

static int replay_all(void *unused, const struct tw_recording *r, const struct tw_replay_options *options,
                      const struct tw_analyzer *analyzer, void *arg)
{
	(void)unused;
	return tw_replay(r, options, analyzer, arg);
}

int tw_hot_run(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_hot *out)
{
	return tw_hot_run_by(replay_all, NULL, r, options, out);
}

void tw_hot_free(struct tw_hot *hot)
{
	free(hot->blocks);
	memset(hot, 0, sizeof *hot);
}

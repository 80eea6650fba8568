#include "analyze/hot.h"
#include "analyze/by_fragment.h"
#include "analyze/profile.h"

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

/* The state of the analyzer. */
struct state {
	const struct shared *shared;
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

static void add_refs(struct tw_hot_counts *c, const struct tw_ref_shape *r, const struct tw_ref_shape *end)
{
	c->refs += (uint64_t)(end - r);
	for (; r < end; r++) {
		c->reads += r->type & TW_READ;
		c->writes += r->type >> 1;
	}
}

/* `*newest` are the counts of the block that began last: references before the stretch's first block are that one's. */
static int take_stretch(struct state *s, const struct tw_stretch *stretch, struct tw_hot_counts **newest)
{
	uint32_t from = 0;
	for (uint32_t i = 0; i < stretch->n_blocks; i++) {
		const struct tw_block_run *run = &stretch->blocks[i];
		struct fragment *f = fragment_of(s, run->descriptor, s->image);
		if (!f)
			return TW_ERR_MEMORY;
		if (run->first_ref > from)
			add_refs(*newest, stretch->refs + from, stretch->refs + run->first_ref);
		from = run->first_ref;
		*newest = &f->block[run->block];
		(*newest)->executions += run->n_insns != 0;
		(*newest)->insns += run->n_insns;
	}
	if (stretch->n_refs > from)
		add_refs(*newest, stretch->refs + from, stretch->refs + stretch->n_refs);
	return 0;
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	struct tw_hot_counts *newest = NULL; /* a batch with references begins with a block */
	int error = 0;
	if (s->thread != b->thread)
		find_image(s, b->thread);
	for (size_t i = 0; i < b->n_stretches && !error; i++)
		error = take_stretch(s, b->stretches[i], &newest);
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
	int error = tw_by_fragment_each(&from->fragments, merge_fragment, state);
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
	static const struct tw_analyzer hot = {.name = "hot", .begin = begin, .batch = batch, .merge = merge, .end = end};
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

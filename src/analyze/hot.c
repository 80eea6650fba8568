#include "analyze/hot.h"

#include <stdlib.h>
#include <string.h>

/* Counters of one fragment, one for each of its blocks. */
struct fragment {
	const struct tw_descriptor *descriptor;
	struct tw_hot_counts block[];
};

/* The state of the analyzer: fragments by number, in rows by its upper half. */
struct state {
	struct tw_hot *out;
	size_t n_blocks;
	struct fragment **row[65536];
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
	for (int i = 0; i < 65536; i++) {
		for (int k = 0; s->row[i] && k < 65536; k++)
			free(s->row[i][k]);
		free(s->row[i]);
	}
	free(s);
}

static void *begin(void *arg)
{
	struct state *s = calloc(1, sizeof *s);
	if (s)
		s->out = arg;
	return s;
}

static struct fragment *new_fragment(struct state *s, const struct tw_descriptor *d)
{
	struct fragment ***row = &s->row[d->number >> 16];
	if (!*row)
		*row = calloc(65536, sizeof **row);
	if (!*row)
		return NULL;
	struct fragment *f = calloc(1, sizeof *f + d->n_blocks * sizeof f->block[0]);
	if (!f)
		return NULL;
	f->descriptor = d;
	(*row)[d->number & 0xffff] = f;
	s->n_blocks += d->n_blocks;
	return f;
}

static inline struct fragment *fragment_of(struct state *s, const struct tw_descriptor *d)
{
	struct fragment **row = s->row[d->number >> 16];
	struct fragment *f = row ? row[d->number & 0xffff] : NULL;
	return f ? f : new_fragment(s, d);
}

static int batch(void *state, const struct tw_batch *b)
{
	struct state *s = state;
	for (size_t i = 0; i < b->n_blocks; i++) {
		const struct tw_block_run *run = &b->blocks[i];
		size_t end = i + 1 < b->n_blocks ? run[1].first_ref : b->n_refs;
		struct fragment *f = fragment_of(s, run->descriptor);
		if (!f)
			return TW_ERR_MEMORY;
		struct tw_hot_counts *c = &f->block[run->block];
		c->executions += run->n_insns != 0;
		c->insns += run->n_insns;
		c->refs += end - run->first_ref;
		for (size_t r = run->first_ref; r < end; r++) {
			c->reads += b->refs[r].type & TW_READ;
			c->writes += b->refs[r].type >> 1;
		}
	}
	return 0;
}

static int merge_fragment(struct state *s, const struct fragment *from)
{
	struct fragment *to = fragment_of(s, from->descriptor);
	for (unsigned i = 0; to && i < from->descriptor->n_blocks; i++)
		tw_hot_add(&to->block[i], &from->block[i]);
	return to ? 0 : TW_ERR_MEMORY;
}

static int merge(void *state, void *later)
{
	struct state *from = later;
	int error = 0;
	for (int i = 0; i < 65536 && !error; i++)
		for (int k = 0; from->row[i] && k < 65536 && !error; k++)
			if (from->row[i][k])
				error = merge_fragment(state, from->row[i][k]);
	free_state(from);
	return error;
}

static void take_blocks(struct tw_hot *hot, const struct fragment *f)
{
	const struct tw_block *b = tw_descriptor_blocks(f->descriptor);
	for (unsigned i = 0; i < f->descriptor->n_blocks; i++) {
		hot->blocks[hot->n_blocks++] = (struct tw_hot_block){b[i].pc, f->descriptor->pid, i, f->descriptor, f->block[i]};
		tw_hot_add(&hot->totals, &f->block[i]);
	}
}

static int by_place(const void *a, const void *b)
{
	const struct tw_hot_block *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
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
	struct tw_hot *hot = s->out;
	if (!error) {
		hot->blocks = malloc((s->n_blocks + 1) * sizeof *hot->blocks);
		error = hot->blocks ? 0 : TW_ERR_MEMORY;
	}
	for (int i = 0; i < 65536 && !error; i++)
		for (int k = 0; s->row[i] && k < 65536; k++)
			if (s->row[i][k])
				take_blocks(hot, s->row[i][k]);
	if (!error)
		join_blocks(hot);
	free_state(s);
	return error;
}

int tw_hot_run(const struct tw_recording *r, const struct tw_replay_options *options, struct tw_hot *out)
{
	static const struct tw_analyzer hot = {"hot", begin, batch, merge, end};
	memset(out, 0, sizeof *out);
	return tw_replay(r, options, &hot, out);
}

void tw_hot_free(struct tw_hot *hot)
{
	free(hot->blocks);
	memset(hot, 0, sizeof *hot);
}

#include "replay/state.h"

void tw_batch_start(struct tw_walk *w)
{
	uint64_t done = w->first_insn - w->chunk->first_insn;
	w->addr = w->addrs;
	w->stretch = w->stretches;
	w->shape = w->shapes;
	w->block = w->blocks;
	w->made = w->mades;
	*w->made = (struct tw_stretch){.blocks = w->blocks, .refs = w->shapes};
	w->event = w->events;
	w->repeated = 0;
	w->sums = 0;
	w->insns = w->n_blocks = w->reads = w->writes = 0;
	w->insns_room = done < w->chunk->insns ? w->chunk->insns - done : 0;
	w->counted.odd = w->counted.odds;
	if (w->counted.is_on)
		w->code_insn_limit = tw_counted_room(w); /* code may be in the middle of a fragment */
}

void tw_batch_close(struct tw_walk *w)
{
	if (!w->made->n_blocks && !w->made->n_refs)
		return;
	*w->stretch++ = w->made++;
	*w->made = (struct tw_stretch){.blocks = w->block, .refs = w->shape};
}

/* ---- what was counted ---- */

/* Where a period ends that begins at or before the next instruction. */
static uint64_t period_end(const struct tw_counted *c, uint64_t at)
{
	const uint64_t most = at + TW_PERIOD_MOST, end = c->period ? at - at % c->period + c->period : most;
	return end < most ? end : most;
}

uint64_t tw_counted_room(const struct tw_walk *w)
{
	const uint64_t end = w->first_insn + tw_batch_n_insns(w) + TW_CODE_INSNS;
	return end < w->counted.period_end ? w->counted.period_end - end : 0;
}

void tw_counted_begin(struct tw_walk *w)
{
	w->counted.period_end = period_end(&w->counted, w->first_insn);
}

/* What stretches tell, where code has not added it up. */
static void count_listed(struct tw_batch *b)
{
	for (size_t i = 0; i < b->n_stretches; i++) {
		const struct tw_stretch *s = b->stretches[i];
		if (!s->number)
			continue; /* made by steps, which count */
		b->n_blocks += s->n_blocks;
		for (uint32_t k = 0; k < s->n_refs; k++) {
			b->n_reads += (s->refs[k].type & TW_READ) != 0;
			b->n_writes += (s->refs[k].type & TW_WRITE) != 0;
		}
	}
}

/* The tables' lists, to the batch. */
static int put_lists(struct tw_walk *w, struct tw_batch *b)
{
	struct tw_counted *c = &w->counted;
	const int marks = c->lines_fd >= 0;
	const uint32_t end = __atomic_load_n(c->newest, __ATOMIC_RELAXED) + 1;
	const long n = marks ? tw_counted_take_pages(w, c) : tw_counted_take_runs(w, c, w->lists.kept.first, end);
	if (n < 0)
		return (int)n;
	b->counted = c->runs;
	b->n_counted = marks ? 0 : (size_t)n;
	b->touched = c->pages;
	b->n_touched = marks ? (size_t)n : 0;
	return 0;
}

/* Of a batch that is given away; `last` if it is the chunk's. */
static int put_counted(struct tw_walk *w, struct tw_batch *b, int last)
{
	const uint64_t end = b->first_insn + b->n_insns;
	count_listed(b);
	b->odd = w->counted.odds;
	b->n_odd = (size_t)(w->counted.odd - w->counted.odds);
	if (!last && end < w->counted.period_end)
		return 0;
	w->counted.period_end = period_end(&w->counted, end);
	return put_lists(w, b);
}

int tw_batch_before(struct tw_walk *w, uint64_t n)
{
	const int ends = w->counted.is_on && w->sums && w->first_insn + tw_batch_n_insns(w) + n >= w->counted.period_end;
	return ends ? tw_batch_flush(w) : 0;
}

/* ---- batches given away ---- */

static int flush(struct tw_walk *w, int continues, int last)
{
	const int counts = w->counted.is_on;
	tw_batch_close(w);
	struct tw_batch b = {
	    .thread = w->chunk->thread,
	    .sequence = w->chunk->sequence,
	    .first_insn = w->first_insn,
	    .first_block = w->first_block,
	    .first_ref = w->first_ref,
	    .stretches = w->stretches,
	    .n_stretches = (size_t)(w->stretch - w->stretches),
	    .n_blocks = tw_batch_n_blocks(w),
	    .n_continued = w->repeated,
	    .n_insns = tw_batch_n_insns(w),
	    .addr = w->addrs,
	    .n_refs = tw_batch_n_refs(w),
	    .n_reads = w->reads + (counts ? 0 : w->sums >> TW_SUM_READS & ((1u << (TW_SUM_WRITES - TW_SUM_READS)) - 1)),
	    .n_writes = w->writes + (counts ? 0 : w->sums >> TW_SUM_WRITES),
	    .events = w->events,
	    .n_events = (size_t)(w->event - w->events),
	    .continues = continues,
	    .lists = &w->lists,
	};
	const int error = counts ? put_counted(w, &b, last) : 0;
	if (error)
		return error;
	if (!b.n_blocks && !b.n_events && !b.n_insns && !b.n_counted && !b.n_touched)
		return 0;
	w->lists.has_blocks = w->lists.has_refs = 0;
	w->first_block += b.n_blocks - b.n_continued;
	w->first_ref += b.n_refs;
	w->first_insn += b.n_insns;
	w->stopped = w->options.batch(w->options.context, &b);
	tw_batch_start(w);
	return w->stopped;
}

int tw_batch_flush(struct tw_walk *w)
{
	return flush(w, 0, 0);
}

int tw_batch_flush_last(struct tw_walk *w)
{
	return flush(w, 0, 1);
}

/* The batch must have one. */
static struct tw_block_run newest_block(const struct tw_walk *w)
{
	const struct tw_stretch *s = w->made;
	for (const struct tw_stretch *const *at = w->stretch; !s->n_blocks;)
		s = *--at;
	return s->blocks[s->n_blocks - 1];
}

int tw_batch_flush_within(struct tw_walk *w)
{
	if (w->addr < w->addr_limit)
		return 0;
	struct tw_block_run last = newest_block(w);
	int error = flush(w, 1, 0);
	tw_batch_block(w, last.descriptor, last.block, 0);
	return error;
}

void tw_batch_block(struct tw_walk *w, const struct tw_descriptor *d, unsigned k, unsigned n_insns)
{
	w->repeated += n_insns == 0;
	w->insns += n_insns;
	w->n_blocks++;
	w->made->n_blocks++;
	*w->block++ = (struct tw_block_run){
	    .pc = tw_descriptor_blocks(d)[k].pc,
	    .descriptor = d,
	    .first_ref = w->made->n_refs,
	    .block = (uint16_t)k,
	    .n_insns = (uint16_t)n_insns,
	};
}

/* ---- batches written out ---- */

const struct tw_block_run *tw_batch_blocks(const struct tw_batch *b)
{
	struct tw_batch_lists *lists = b->lists;
	struct tw_block_run *to = lists->blocks;
	uint32_t first_ref = 0;
	if (lists->has_blocks)
		return lists->blocks;
	for (size_t i = 0; i < b->n_stretches; i++) {
		const struct tw_stretch *s = b->stretches[i];
		for (uint32_t k = 0; k < s->n_blocks; k++, to++) {
			*to = s->blocks[k];
			to->first_ref += first_ref;
		}
		first_ref += s->n_refs;
	}
	lists->has_blocks = 1;
	return lists->blocks;
}

const struct tw_ref *tw_batch_refs(const struct tw_batch *b)
{
	struct tw_batch_lists *lists = b->lists;
	struct tw_ref *to = lists->refs;
	const uint64_t *addr = b->addr;
	if (lists->has_refs)
		return lists->refs;
	for (size_t i = 0; i < b->n_stretches; i++) {
		const struct tw_ref_shape *r = b->stretches[i]->refs, *end = r + b->stretches[i]->n_refs;
		for (; r < end; r++, addr++)
			*to++ = (struct tw_ref){.pc = r->pc, .addr = *addr, .size = r->size, .insn = r->insn, .type = r->type};
	}
	lists->has_refs = 1;
	return lists->refs;
}

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
}

void tw_batch_close(struct tw_walk *w)
{
	if (!w->made->n_blocks && !w->made->n_refs)
		return;
	*w->stretch++ = w->made++;
	*w->made = (struct tw_stretch){.blocks = w->block, .refs = w->shape};
}

static int flush(struct tw_walk *w, int continues)
{
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
	    .n_reads = w->reads + (w->sums >> TW_SUM_READS & ((1u << (TW_SUM_WRITES - TW_SUM_READS)) - 1)),
	    .n_writes = w->writes + (w->sums >> TW_SUM_WRITES),
	    .events = w->events,
	    .n_events = (size_t)(w->event - w->events),
	    .continues = continues,
	    .lists = &w->lists,
	};
	if (!b.n_blocks && !b.n_events)
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
	return flush(w, 0);
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
	int error = flush(w, 1);
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

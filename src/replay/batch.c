#include "replay/state.h"

void tw_batch_start(struct tw_walk *w)
{
	uint64_t done = w->first_insn - w->chunk->first_insn;
	w->ref = w->refs;
	w->block = w->blocks;
	w->event = w->events;
	w->repeated = 0;
	w->insns = 0;
	w->kinds = 0;
	w->insns_room = done < w->chunk->insns ? w->chunk->insns - done : 0;
}

static int flush(struct tw_walk *w, int continues)
{
	struct tw_batch b = {
	    .thread = w->chunk->thread,
	    .sequence = w->chunk->sequence,
	    .first_insn = w->first_insn,
	    .first_block = w->first_block,
	    .first_ref = w->first_ref,
	    .blocks = w->blocks,
	    .n_blocks = (size_t)(w->block - w->blocks),
	    .n_continued = w->repeated,
	    .n_insns = w->insns,
	    .refs = w->refs,
	    .n_refs = (size_t)(w->ref - w->refs),
	    .n_reads = w->kinds & 0xffff,
	    .n_writes = w->kinds >> 16,
	    .events = w->events,
	    .n_events = (size_t)(w->event - w->events),
	    .continues = continues,
	};
	if (!b.n_blocks && !b.n_events)
		return 0;
	w->first_block += b.n_blocks - b.n_continued;
	w->first_ref += b.n_refs;
	w->first_insn += b.n_insns;
	tw_batch_start(w);
	w->stopped = w->options.batch(w->options.context, &b);
	return w->stopped;
}

int tw_batch_flush(struct tw_walk *w)
{
	return flush(w, 0);
}

int tw_batch_flush_within(struct tw_walk *w)
{
	if (w->ref < w->refs + TW_BATCH)
		return 0;
	struct tw_block_run last = w->block[-1];
	int error = flush(w, 1);
	tw_batch_block(w, last.descriptor, last.block, 0);
	return error;
}

void tw_batch_block(struct tw_walk *w, const struct tw_descriptor *d, unsigned k, unsigned n_insns)
{
	w->repeated += n_insns == 0;
	w->insns += n_insns;
	*w->block++ = (struct tw_block_run){
	    .pc = tw_descriptor_blocks(d)[k].pc,
	    .descriptor = d,
	    .first_ref = (uint32_t)(w->ref - w->refs),
	    .block = (uint16_t)k,
	    .n_insns = (uint16_t)n_insns,
	};
}

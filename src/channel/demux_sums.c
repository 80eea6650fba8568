#include "channel/demux_sums.h"
#include "recording/recording.h"

void tw_demux_count_refs(struct tw_demux_walk *w, uint64_t n, unsigned type)
{
	w->refs += n;
	w->reads += type & 1 ? n : 0;
	w->writes += type >> 1 ? n : 0;
}

static void count_rep(struct tw_demux_walk *w, const struct tw_op *op, uint64_t before, uint64_t after)
{
	uint64_t n = tw_op_iterations(op, before, after);
	tw_demux_count_refs(w, n, op->type);
	if (op->flags & TW_OPF_SECOND)
		tw_demux_count_refs(w, n, op->count);
}

static void count_op(struct tw_demux_walk *w, const struct tw_op *op, const uint64_t *values)
{
	switch (op->kind) {
	case TW_OP_REF:
	case TW_OP_BIT:
	case TW_OP_XSAVE:
		tw_demux_count_refs(w, 1, op->type);
		break;
	case TW_OP_REP:
		count_rep(w, op, values[op->value], values[op->mask_value]);
		break;
	case TW_OP_LANES:
		tw_demux_count_refs(w, tw_op_lane_refs(op, values), op->type);
		break;
	default:
		break;
	}
}

void tw_demux_count_dynamic(struct tw_demux_walk *w, const struct tw_descriptor *d, const uint64_t *values)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	for (unsigned i = 0; i < d->n_ops; i++)
		if (op[i].kind == TW_OP_REP || op[i].kind == TW_OP_LANES)
			count_op(w, &op[i], values);
}

void tw_demux_count_loop(struct tw_demux_walk *w, const struct tw_demux_entry *e, uint64_t n)
{
	w->insns += n * (uint32_t)e->insns_blocks;
	w->blocks += n * (e->insns_blocks >> 32);
	w->refs += n * (uint32_t)e->refs_reads;
	w->reads += n * (e->refs_reads >> 32);
	w->writes += n * e->writes;
}

void tw_demux_count_partial(struct tw_demux_walk *w, const struct tw_descriptor *d, const uint64_t *values)
{
	const struct tw_partial *partial = &w->partial;
	const struct tw_block *b = tw_descriptor_blocks(d);
	const struct tw_op *op = tw_descriptor_ops(d);
	uint64_t insns = partial->insns < d->n_insns ? partial->insns : d->n_insns, blocks = 0;
	for (unsigned i = 0; i < d->n_blocks; i++)
		blocks += b[i].first_insn < insns;
	w->insns_blocks += insns | blocks << 32;
	if (w->demux->count_refs)
		return;
	for (unsigned i = 0; i < d->n_ops && op[i].insn <= partial->insns; i++) {
		if (op[i].insn < partial->insns)
			count_op(w, &op[i], values);
		else if (partial->in_rep && op[i].kind == TW_OP_REP)
			count_rep(w, &op[i], values[op[i].value], partial->regs[tw_op_counter(&op[i])]);
	}
}

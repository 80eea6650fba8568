/* What follows from a descriptor alone, or from it and the values of one execution. */
#include "recording/recording.h"
#include "base/channel.h"

#include <string.h>

/* Keeps the sums of what one buffer held (at most 2^19 + 2^13 executions) within 32 bits. */
enum { MAX_COUNT = 8000 };

static int reg_ok(uint8_t reg)
{
	return reg < TW_NREGS || reg == TW_NOREG;
}

/* M slots from op->mask_value that hold the mask of a LANES operation. */
static unsigned mask_slots(const struct tw_op *op)
{
	return op->mask_width ? (op->count * op->mask_width + 7u) / 8 : 1;
}

static int slots_ok(const struct tw_op *op, unsigned n_values)
{
	switch (op->kind) {
	case TW_OP_RECORD:
		return op->value < n_values;
	case TW_OP_XSAVE:
		return op->value < n_values && (!(op->flags & TW_OPF_SECOND) || op->mask_value < n_values);
	case TW_OP_REP:
		return op->value < n_values && op->mask_value < n_values;
	case TW_OP_LANES:
		return op->count <= 64 && op->mask_value + mask_slots(op) <= n_values &&
		       (!op->index_width || op->value + (op->count * op->index_width + 7u) / 8 <= n_values);
	default:
		return 1;
	}
}

static int registers_ok(const struct tw_op *op)
{
	if (!reg_ok(op->base) || !reg_ok(op->index))
		return 0;
	switch (op->kind) {
	case TW_OP_RECORD:
		return op->base < TW_NREGS;
	case TW_OP_SET:
	case TW_OP_CALC:
	case TW_OP_BIT:
		return op->count < TW_NREGS;
	case TW_OP_REP:
		return op->base < TW_NREGS && tw_op_counter(op) < TW_NREGS && op->size;
	default:
		return 1;
	}
}

static int width_ok(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Sizes that are more than a number to pass on. */
static int sizes_ok(const struct tw_op *op)
{
	switch (op->kind) {
	case TW_OP_BIT:
		return width_ok(op->size);
	case TW_OP_LANES:
		return !op->index_width || width_ok(op->index_width);
	default:
		return 1;
	}
}

static int type_ok(uint8_t type)
{
	return type >= TW_READ && type <= TW_MODIFY;
}

static int op_ok(const struct tw_op *op, const struct tw_descriptor *d)
{
	if (op->kind >= TW_NOPS || op->insn >= d->n_insns || op->seg >= TW_NSEGS || op->scale > 3)
		return 0;
	if (op->kind == TW_OP_CALC && op->type >= TW_NCALCS)
		return 0;
	if (tw_op_is_ref(op) && !type_ok(op->type))
		return 0;
	if (tw_op_is_ref(op) && op->size > TW_REF_MOST)
		return 0;
	if (op->kind == TW_OP_REP && op->flags & TW_OPF_SECOND && !type_ok((uint8_t)op->count))
		return 0;
	return registers_ok(op) && sizes_ok(op) && slots_ok(op, d->n_values);
}

static int blocks_ok(const struct tw_descriptor *d)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	unsigned insn = 0;
	for (unsigned i = 0; i < d->n_blocks; i++) {
		if (b[i].first_insn != insn || !b[i].n_insns || b[i].end >= TW_NENDS)
			return 0;
		insn += b[i].n_insns;
	}
	return insn == d->n_insns;
}

static int ops_ok(const struct tw_descriptor *d)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	for (unsigned i = 0; i < d->n_ops; i++)
		if (!op_ok(&op[i], d) || (i && op[i].insn < op[i - 1].insn))
			return 0;
	return 1;
}

/* A loop's only value is how often it ran, and a whole fragment runs each time. */
static int loop_ok(const struct tw_descriptor *d)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	if (!(d->flags & TW_DESC_LOOP))
		return 1;
	for (unsigned i = 0; i < d->n_ops; i++)
		if (op[i].kind != TW_OP_REF && !tw_op_is_update(&op[i]) && op[i].kind != TW_OP_BIT)
			return 0;
	return d->n_values == 1 && !(d->flags & TW_DESC_DYNAMIC);
}

int tw_descriptor_valid(const struct tw_descriptor *d, uint64_t avail)
{
	if (avail < sizeof *d || d->bytes > avail || (d->number & 0xffff) < TW_TAG_FIRST)
		return 0;
	if (d->n_insns > MAX_COUNT || d->n_blocks > MAX_COUNT || d->n_ops > MAX_COUNT || d->n_values > MAX_COUNT)
		return 0;
	if (tw_descriptor_size(d->n_blocks, d->n_ops, d->n_insns, d->code_bytes) != d->bytes)
		return 0;
	return d->n_blocks && blocks_ok(d) && ops_ok(d) && loop_ok(d);
}

void tw_descriptor_counts(const struct tw_descriptor *d, struct tw_static_counts *out)
{
	const struct tw_op *op = tw_descriptor_ops(d);
	*out = (struct tw_static_counts){.insns = d->n_insns, .blocks = d->n_blocks};
	for (unsigned i = 0; i < d->n_ops; i++) {
		if (op[i].kind != TW_OP_REF && op[i].kind != TW_OP_BIT && op[i].kind != TW_OP_XSAVE)
			continue;
		out->refs++;
		out->reads += op[i].type & 1;
		out->writes += op[i].type >> 1;
	}
}

void tw_descriptor_add_runs(const struct tw_descriptor *d, uint64_t runs, struct tw_totals *t)
{
	struct tw_static_counts n;
	tw_descriptor_counts(d, &n);
	t->insns += runs * n.insns;
	t->blocks += runs * n.blocks;
	t->refs += runs * n.refs;
	t->reads += runs * n.reads;
	t->writes += runs * n.writes;
	t->raw[TW_STREAM_C] += runs * 2;
	t->raw[TW_STREAM_M] += runs * 8 * d->n_values;
}

uint64_t tw_op_iterations(const struct tw_op *op, uint64_t before, uint64_t after)
{
	int64_t moved = (int64_t)(after - before);
	if (op->flags & TW_OPF_ADDR32)
		moved = (int32_t)moved;
	return (moved < 0 ? 0 - (uint64_t)moved : (uint64_t)moved) / op->size;
}

/* Of a mask in a vector: the highest bit of each lane. */
static int is_active(const struct tw_op *op, const uint64_t *mask, unsigned lane)
{
	return ((const uint8_t *)mask)[(lane + 1) * op->mask_width - 1] >> 7;
}

uint64_t tw_op_active_lanes(const struct tw_op *op, const uint64_t *values)
{
	const uint64_t *mask = values + op->mask_value;
	uint64_t active = 0;
	if (!op->mask_width)
		return op->count ? mask[0] & UINT64_MAX >> (64 - op->count) : 0;
	for (unsigned lane = 0; lane < op->count; lane++)
		active |= (uint64_t)is_active(op, mask, lane) << lane;
	return active;
}

unsigned tw_op_lane_refs(const struct tw_op *op, const uint64_t *values)
{
	uint64_t active = tw_op_active_lanes(op, values);
	return op->flags & (TW_OPF_BROADCAST | TW_OPF_ANY) ? active != 0 : (unsigned)__builtin_popcountll(active);
}

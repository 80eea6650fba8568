/* The operations of a descriptor that have no step kind of their own, as descriptor.h specifies them. */
#include "recording/recording.h"
#include "replay/state.h"

static uint64_t reg_of(const struct tw_walk *w, uint8_t reg)
{
	return w->reg[reg < TW_NREGS ? reg : TW_SLOT_ZERO];
}

static uint64_t segment_of(const struct tw_walk *w, uint8_t seg)
{
	return seg == TW_SEG_FS ? w->reg[TW_SLOT_FS] : seg == TW_SEG_GS ? w->reg[TW_SLOT_GS] : 0;
}

static uint64_t cut(uint64_t address, uint8_t flags)
{
	return flags & TW_OPF_ADDR32 ? (uint32_t)address : address;
}

/* The effective address plus `more`, without its segment base. */
static uint64_t offset_of(const struct tw_walk *w, const struct tw_op *op, uint64_t more)
{
	uint64_t index = reg_of(w, op->index);
	if (op->flags & TW_OPF_INDEX8)
		index &= 0xff;
	return cut(reg_of(w, op->base) + (index << op->scale) + (uint64_t)op->disp + more, op->flags);
}

static uint64_t address_of(const struct tw_walk *w, const struct tw_op *op, uint64_t more)
{
	uint64_t address = segment_of(w, op->seg) + offset_of(w, op, more);
	return op->kind == TW_OP_REF && op->flags & TW_OPF_LINE ? address & ~63ull : address;
}

/* `bytes` (1, 2, 4 or 8) at p as a signed number. */
static int64_t signed_at(const void *p, unsigned bytes)
{
	uint64_t v = 0;
	memcpy(&v, p, bytes);
	unsigned shift = 64 - 8 * bytes;
	return (int64_t)(v << shift) >> shift;
}

static uint64_t calculate(const struct tw_walk *w, const struct tw_op *op)
{
	uint64_t a = cut(reg_of(w, op->base), op->flags), b = op->index < TW_NREGS ? w->reg[op->index] : (uint64_t)op->disp;
	unsigned width = op->flags & TW_OPF_ADDR32 ? 32 : 64, shift = (unsigned)b & (width - 1);
	switch (op->type) {
	case TW_CALC_AND:
		return cut(a & b, op->flags);
	case TW_CALC_OR:
		return cut(a | b, op->flags);
	case TW_CALC_XOR:
		return cut(a ^ b, op->flags);
	case TW_CALC_SUB:
		return cut(a - b, op->flags);
	case TW_CALC_MUL:
		return cut(a * b, op->flags);
	case TW_CALC_SHL:
		return cut(a << shift, op->flags);
	case TW_CALC_SHR:
		return a >> shift;
	case TW_CALC_SAR:
		return cut((uint64_t)(signed_at(&a, width / 8) >> shift), op->flags);
	case TW_CALC_SX8:
		return cut((uint64_t)(int8_t)a, op->flags);
	case TW_CALC_SX16:
		return cut((uint64_t)(int16_t)a, op->flags);
	case TW_CALC_SX32:
		return (uint64_t)(int32_t)a;
	case TW_CALC_ZX8:
		return (uint8_t)a;
	case TW_CALC_ZX16:
		return (uint16_t)a;
	default:
		return 0;
	}
}

static void do_bit(struct tw_walk *w, const struct tw_op *op, const struct tw_step *s)
{
	uint64_t bits = reg_of(w, (uint8_t)op->count);
	unsigned log2_bits = 3 + (unsigned)__builtin_ctz(op->size);
	int64_t element = signed_at(&bits, op->size) >> log2_bits;
	tw_batch_ref(w, s->pc, address_of(w, op, (uint64_t)element * op->size), s->shape);
}

static void do_xsave(struct tw_walk *w, const struct tw_op *op, const struct tw_step *s, const uint64_t *values)
{
	const struct tw_xstate *x = w->options.xstate;
	int compact = op->flags & TW_OPF_SECOND ? (int)(values[op->mask_value] >> 63) : op->flags & TW_OPF_COMPACT;
	uint32_t size = tw_xsave_size(x, x->xcr0 & (uint32_t)values[op->value], compact);
	tw_batch_ref(w, s->pc, address_of(w, op, 0), tw_ref_shape(size, op->insn, op->type));
}

static uint64_t lane_offset(const struct tw_op *op, const uint64_t *values, unsigned lane, unsigned active_before)
{
	if (op->flags & TW_OPF_PACKED)
		return (uint64_t)active_before * op->size;
	const uint8_t *indices = (const uint8_t *)(values + op->value);
	return (uint64_t)signed_at(indices + lane * op->index_width, op->index_width) << op->scale;
}

/* Lanes that lie side by side in memory. */
static void do_adjacent_lanes(struct tw_walk *w, const struct tw_op *op, const struct tw_step *s, uint64_t active)
{
	struct tw_ref_shape shape = tw_batch_shape(s->pc, s->shape), *to = w->shape;
	uint64_t segment = segment_of(w, op->seg), first = offset_of(w, op, 0), *addr = w->addr;
	for (; active; active &= active - 1) {
		*addr++ = segment + cut(first + (uint64_t)__builtin_ctzll(active) * op->size, op->flags);
		*to++ = shape;
	}
	tw_batch_count(w, shape.type, (uint64_t)(addr - w->addr));
	w->made->n_refs += (uint32_t)(addr - w->addr);
	w->addr = addr;
	w->shape = to;
}

static void do_lanes(struct tw_walk *w, const struct tw_op *op, const struct tw_step *s, const uint64_t *values)
{
	uint64_t active = tw_op_active_lanes(op, values);
	if (active && op->flags & (TW_OPF_BROADCAST | TW_OPF_ANY))
		tw_batch_ref(w, s->pc, address_of(w, op, 0), s->shape);
	else if (!op->index_width && !(op->flags & TW_OPF_PACKED))
		do_adjacent_lanes(w, op, s, active);
	else
		for (unsigned n = 0; active; active &= active - 1, n++)
			tw_batch_ref(w, s->pc, address_of(w, op, lane_offset(op, values, (unsigned)__builtin_ctzll(active), n)), s->shape);
}

/* ---- repeated string instructions ---- */

/* What moves in one repeated instruction. */
struct rep {
	const struct tw_op *op;
	uint64_t step, segment;
	struct tw_ref_shape shape, second_shape;
	unsigned refs; /* of one iteration */
};

/* One of the references of each of n iterations, number `first`, which goes by register `reg`. */
static void rep_refs(struct tw_walk *w, const struct rep *r, uint64_t n, uint8_t reg, uint64_t segment, const struct tw_ref_shape *shape,
                     unsigned first)
{
	uint64_t at = w->reg[reg], *addr = w->addr + first;
	struct tw_ref_shape *to = w->shape + first;
	for (uint64_t i = 0; i < n; i++) {
		at = cut(at, r->op->flags);
		addr[i * r->refs] = segment + at;
		to[i * r->refs] = *shape;
		at += r->step;
	}
	w->reg[reg] = cut(at, r->op->flags);
	tw_batch_count(w, shape->type, n);
}

/* As many of n iterations as a batch has room for, but one at least. */
static uint64_t rep_iterations(struct tw_walk *w, const struct rep *r, uint64_t n)
{
	uint64_t room = w->addr < w->addr_limit ? (uint64_t)(w->addr_limit - w->addr + r->refs - 1) / r->refs : 1;
	n = n < room ? n : room;
	rep_refs(w, r, n, r->op->base, r->segment, &r->shape, 0);
	if (r->refs > 1)
		rep_refs(w, r, n, r->op->index, 0, &r->second_shape, 1);
	w->addr += n * r->refs;
	w->shape += n * r->refs;
	w->made->n_refs += (uint32_t)(n * r->refs);
	return n;
}

/* References the chunk still has, by its header. */
static uint64_t refs_left(const struct tw_walk *w)
{
	uint64_t done = w->first_ref + tw_batch_n_refs(w) - w->chunk->first_ref;
	return done < w->chunk->refs ? w->chunk->refs - done : 0;
}

int tw_walk_rep(struct tw_walk *w, const struct tw_op *op, const struct tw_step *s, uint64_t before, uint64_t after)
{
	int64_t moved = (int64_t)(after - before);
	if (op->flags & TW_OPF_ADDR32)
		moved = (int32_t)moved;
	struct rep r = {
	    .op = op,
	    .step = moved < 0 ? 0 - (uint64_t)op->size : op->size,
	    .segment = op->base == TW_RSI ? segment_of(w, op->seg) : 0,
	    .shape = tw_batch_shape(s->pc, s->shape),
	    .second_shape = tw_batch_shape(s->pc, tw_ref_shape(op->size, op->insn, (uint8_t)op->count)),
	    .refs = op->flags & TW_OPF_SECOND ? 2 : 1,
	};
	uint64_t n = tw_op_iterations(op, before, after);
	if (n > refs_left(w) / r.refs)
		return tw_walk_damaged(w, TW_ERR_STREAM, "more references than the chunk's header says, at iteration count", n);
	w->reg[tw_op_counter(op)] = before;
	while (n) {
		n -= rep_iterations(w, &r, n);
		int error = tw_batch_flush_within(w);
		if (error)
			return error;
	}
	w->reg[tw_op_counter(op)] = after;
	return 0;
}

int tw_walk_other(struct tw_walk *w, const struct tw_program *p, const struct tw_step *s, const uint64_t *values)
{
	const struct tw_op *op = tw_descriptor_ops(p->descriptor) + s->base;
	switch (op->kind) {
	case TW_OP_SET:
		w->reg[op->count] = offset_of(w, op, 0);
		break;
	case TW_OP_CALC:
		w->reg[op->count] = calculate(w, op);
		break;
	case TW_OP_REF:
		tw_batch_ref(w, s->pc, address_of(w, op, 0), s->shape);
		break;
	case TW_OP_BIT:
		do_bit(w, op, s);
		break;
	case TW_OP_REP:
		return tw_walk_rep(w, op, s, values[op->value], values[op->mask_value]);
	case TW_OP_LANES:
		do_lanes(w, op, s, values);
		break;
	case TW_OP_XSAVE:
		do_xsave(w, op, s, values);
		break;
	default:
		break;
	}
	return 0;
}

int tw_walk_help(struct tw_walk *w, const struct tw_program *p, const struct tw_step *s, const uint64_t *values)
{
	int error = tw_walk_other(w, p, s, values);
	tw_batch_close(w);
	return error;
}

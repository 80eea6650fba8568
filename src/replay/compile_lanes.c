/*
 * Masked accesses to adjacent lanes, which are frequent in string and memory libraries. Nearly always the first few
 * lanes are active: how many is not predicted, so QUICK_LANES addresses are written in any case, and count as far as
 * they are references. Each number has a stretch of its own. The walk handles other masks.
 */
#include "replay/compile_lanes.h"

/* Lanes whose addresses are written without a look. */
enum { QUICK_LANES = 8 };

_Static_assert(QUICK_LANES <= (int)TW_BATCH_SPARE, "the batch has room for what is too much");

int tw_compile_has_lanes(const struct tw_op *op)
{
	int scales = op->size == 1 || op->size == 2 || op->size == 4 || op->size == 8;
	return op->kind == TW_OP_LANES && !op->flags && !op->index_width && !op->mask_width && op->count && op->count <= 64 && scales &&
	       op->disp == (int32_t)op->disp;
}

size_t tw_compile_lanes_data(void)
{
	return QUICK_LANES * sizeof(struct tw_ref_shape) + (QUICK_LANES + 1) * sizeof(struct tw_stretch);
}

/* A stretch for each number of lanes, side by side. */
static const struct tw_stretch *list_stretches(struct compiler *c, const struct tw_step *s)
{
	struct tw_ref_shape *shape = tw_compile_data(c, QUICK_LANES * sizeof *shape);
	struct tw_stretch *stretch = tw_compile_data(c, (QUICK_LANES + 1) * sizeof *stretch);
	for (unsigned i = 0; i < QUICK_LANES; i++)
		shape[i] = tw_batch_shape(s->pc, s->shape);
	for (unsigned n = 0; n <= QUICK_LANES; n++)
		stretch[n] = (struct tw_stretch){.refs = shape, .n_refs = n, .number = tw_compile_number(c)};
	return stretch;
}

/* The first lane's address, to rcx. */
static void first_address(struct compiler *c, const struct tw_op *op)
{
	struct as_mem m = {AS_NONE, AS_NONE, op->scale, (int32_t)op->disp};
	if (op->base < TW_NREGS) {
		as_load(&c->a, AS_RCX, tw_slot_memory(op->base));
		m.base = AS_RCX;
	}
	if (op->index < TW_NREGS) {
		as_load(&c->a, AS_RDX, tw_slot_memory(op->index));
		m.index = AS_RDX;
	}
	as_lea(&c->a, AS_RCX, m, 1);
	tw_compile_segment(c, AS_RCX, op);
}

/* Number of active lanes, to rdx; jumps elsewhere if these are not the first few. */
static void count_lanes(struct compiler *c, const struct tw_op *op, struct tw_lanes *l)
{
	as_load(&c->a, AS_RAX, tw_value_memory(c, op->mask_value));
	if (op->count < 64) {
		as_constant(&c->a, AS_RDX, (1ull << op->count) - 1);
		as_alu(&c->a, AS_AND, AS_RAX, AS_RDX, 1);
	}
	as_alu_constant(&c->a, AS_CMP, AS_RAX, (1 << QUICK_LANES) - 1, 1);
	l->many = as_jump_forward(&c->a, AS_ABOVE);
	as_lea(&c->a, AS_RDX, as_at(AS_RAX, 1), 1);
	as_alu(&c->a, AS_AND, AS_RAX, AS_RDX, 1);
	l->others = as_jump_forward(&c->a, AS_NOT_EQUAL);
	as_lowest_bit(&c->a, AS_RDX, AS_RDX);
}

static void write_addresses(struct compiler *c, const struct tw_op *op)
{
	for (int32_t k = 0; k < QUICK_LANES && k < op->count; k++) {
		if (k)
			as_lea(&c->a, AS_RAX, as_at(AS_RCX, k * (int32_t)op->size), 1);
		as_store(&c->a, as_at(CODE_ADDR, (k - TW_CODE_ADDR_AHEAD) * (int32_t)sizeof(uint64_t)), k ? AS_RAX : AS_RCX);
	}
	as_lea(&c->a, CODE_ADDR, (struct as_mem){CODE_ADDR, AS_RDX, 3, 0}, 1);
}

/* The stretch of rdx lanes to the batch. */
static void write_stretch(struct compiler *c, const struct tw_stretch *stretch)
{
	_Static_assert(sizeof *stretch == 4 << 3, "the code counts on it");
	as_lea_data(&c->a, AS_RAX, (const uint8_t *)stretch);
	as_lea(&c->a, AS_RCX, (struct as_mem){AS_NONE, AS_RDX, 2, 0}, 1);
	as_lea(&c->a, AS_RAX, (struct as_mem){AS_RAX, AS_RCX, 3, 0}, 1);
	as_store(&c->a, as_at(CODE_STRETCH, 0), AS_RAX);
	as_alu_constant(&c->a, AS_ADD, CODE_STRETCH, sizeof(struct tw_stretch *), 1);
}

static void add_sums(struct compiler *c, const struct tw_op *op)
{
	if (tw_addresses_count(c->at->addresses))
		return;
	if (op->type & TW_READ) {
		as_move(&c->a, AS_RAX, AS_RDX);
		as_shift(&c->a, AS_SHL, AS_RAX, TW_SUM_READS, 1);
		as_alu(&c->a, AS_ADD, CODE_SUMS, AS_RAX, 1);
	}
	if (op->type & TW_WRITE) {
		as_shift(&c->a, AS_SHL, AS_RDX, TW_SUM_WRITES, 1);
		as_alu(&c->a, AS_ADD, CODE_SUMS, AS_RDX, 1);
	}
}

int tw_compile_lanes(struct compiler *c, const struct tw_step *s)
{
	const struct tw_op *op = c->ops + s->base;
	struct tw_lanes *l = &c->lanes[c->n_lanes];
	if (c->n_lanes == sizeof c->lanes / sizeof *c->lanes || !tw_compile_has_lanes(op))
		return 0;
	c->n_lanes++;
	l->step = s;
	first_address(c, op);
	count_lanes(c, op, l);
	write_addresses(c, op);
	write_stretch(c, list_stretches(c, s));
	add_sums(c, op);
	l->next = c->a.at;
	return 1;
}

void tw_compile_other_lanes(struct compiler *c)
{
	for (unsigned i = 0; i < c->n_lanes; i++) {
		as_here(&c->a, c->lanes[i].many);
		as_here(&c->a, c->lanes[i].others);
		tw_compile_helper(c, c->lanes[i].step);
		as_jump(&c->a, c->lanes[i].next);
	}
}

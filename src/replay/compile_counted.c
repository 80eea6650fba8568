#include "replay/compile_counted.h"

enum { LINE = 64 };

static const struct tw_ref_shape *next_shape(const struct compiler *c)
{
	return &c->stretch->refs[c->n_refs];
}

/* Sizes that are a power of two and no larger than a line: aligned references are within one. */
static int can_be_aligned(uint32_t size)
{
	return size && size <= LINE && !(size & (size - 1));
}

int tw_compile_watches(const struct compiler *c)
{
	return c->at->addresses == TW_ADDRESSES_LINES || next_shape(c)->size != 1;
}

/* ---- references that are not aligned ---- */

static void take_odd(struct compiler *c, uint8_t reg, const struct tw_ref_shape *shape)
{
	if (reg != AS_RAX)
		as_move(&c->a, AS_RAX, reg);
	as_push(&c->a, AS_RCX);
	as_lea_data(&c->a, AS_RCX, (const uint8_t *)shape);
	as_call(&c->a, c->at->odd);
	as_pop(&c->a, AS_RCX);
}

/* When there is no more room the code exits at its next check. */
void tw_compile_take_odd(struct as *a)
{
	as_push(a, AS_RDX);
	as_load(a, AS_RDX, WALK(counted.odd));
	as_store(a, as_at(AS_RDX, offsetof(struct tw_odd, addr)), AS_RAX);
	as_store(a, as_at(AS_RDX, offsetof(struct tw_odd, shape)), AS_RCX);
	as_alu_constant(a, AS_ADD, AS_RDX, sizeof(struct tw_odd), 1);
	as_store(a, WALK(counted.odd), AS_RDX);
	as_alu_mem(a, AS_CMP, AS_RDX, WALK(counted.odd_limit));
	uint8_t *has_room = as_jump_forward(a, AS_BELOW);
	as_store_constant(a, WALK(code_insn_limit), 0);
	as_here(a, has_room);
	as_pop(a, AS_RDX);
	as_return(a);
}

int tw_compile_odd(struct compiler *c)
{
	for (unsigned i = 0; i < c->n_watched; i++) {
		const struct tw_watched *w = &c->watched[i];
		if (!tw_compile_has_room(c))
			return 0;
		as_here(&c->a, w->odd);
		take_odd(c, w->reg, w->shape);
		as_jump(&c->a, w->next);
	}
	return 1;
}

/* ---- references ---- */

static void mark_line(struct compiler *c, uint8_t reg)
{
	const struct as_mem line = {CODE_WALK, AS_RAX, 0, TW_LINES_AT - TW_WALK_AHEAD};
	as_cut_bits(&c->a, AS_RAX, reg, CODE_CUT);
	as_store8(&c->a, line, 1);
}

/* Jumps over the code for unaligned addresses if the address is aligned, or to that code if not. */
static void look(struct compiler *c, uint8_t reg, const struct tw_ref_shape *shape)
{
	as_test8(&c->a, reg, (uint8_t)(shape->size - 1));
	if (c->n_watched == TW_WATCHED) {
		uint8_t *aligned = as_jump_forward(&c->a, AS_EQUAL);
		take_odd(c, reg, shape);
		as_here(&c->a, aligned);
		return;
	}
	c->watched[c->n_watched++] = (struct tw_watched){.shape = shape, .reg = reg, .odd = as_jump_forward(&c->a, AS_NOT_EQUAL)};
}

void tw_compile_watch(struct compiler *c, uint8_t reg)
{
	const struct tw_ref_shape *shape = next_shape(c);
	const unsigned before = c->n_watched;
	c->n_refs++;
	if (!can_be_aligned(shape->size)) {
		take_odd(c, reg, shape);
		return;
	}
	if (shape->size > 1)
		look(c, reg, shape);
	if (c->at->addresses == TW_ADDRESSES_LINES)
		mark_line(c, reg);
	if (c->n_watched > before)
		c->watched[before].next = c->a.at;
}

/* ---- stretches ---- */

void tw_compile_count_insns(struct compiler *c)
{
	int32_t n = 0;
	for (uint32_t i = 0; i < c->stretch->n_blocks; i++)
		n += c->stretch->blocks[i].n_insns;
	if (n)
		as_alu_constant(&c->a, AS_ADD, CODE_SUMS, n, 1);
}

void tw_compile_count(struct compiler *c)
{
	if (c->at->addresses == TW_ADDRESSES_COUNTED)
		as_increment32(&c->a, tw_code_walk(TW_COUNTS_AT + c->stretch->number * sizeof(uint32_t)));
	tw_compile_count_insns(c);
}

void tw_compile_if_full(struct compiler *c, const uint8_t *to)
{
	as_alu_mem(&c->a, AS_CMP, CODE_SUMS, WALK(code_insn_limit));
	as_jump_if(&c->a, AS_ABOVE_EQUAL, to);
	if (c->counted)
		return;
	as_alu_mem(&c->a, AS_CMP, CODE_ADDR, WALK(counted.addr_limit));
	as_jump_if(&c->a, AS_ABOVE_EQUAL, to);
	as_alu_mem(&c->a, AS_CMP, CODE_STRETCH, WALK(stretch_limit));
	as_jump_if(&c->a, AS_ABOVE_EQUAL, to);
}

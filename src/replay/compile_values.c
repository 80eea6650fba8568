/*
 * Encoded values, computed where they are used (recording/predictor.h says how). The expected case is inline. Slots
 * that were repeatedly predicted in unexpected modes are *open*: there all literals are one mode.
 */
#include "recording/predictor_code.h"
#include "replay/compile_values.h"

static struct as_mem of_slot(const struct tw_inline_value *v, size_t field)
{
	return as_at(CODE_SLOT, (int32_t)(v->k * sizeof(struct tw_value_slot) + field) - TW_SLOT_AHEAD);
}

#define SLOT(v, field) of_slot(v, offsetof(struct tw_value_slot, field))

/* An item of the table that is, by kind of literal, a field of the walk; of the kind in rax. */
#define BY_KIND(field) ((struct as_mem){CODE_WALK, AS_RAX, 3, WALK(field).disp})

/* The last value of the slot's register. */
static struct as_mem last_of_register(const struct tw_inline_value *v)
{
	return tw_code_walk(offsetof(struct tw_walk, values.p.reg) + v->reg * sizeof(uint64_t));
}

/* Does the program take each value once, in order, by a plain step? */
static int in_order(const struct compiler *c)
{
	unsigned n = 0;
	const struct tw_step *s = c->p->step;
	for (; s->kind != TW_STEP_END; s++) {
		const struct tw_op *op = s->kind == TW_STEP_OTHER ? c->ops + s->base : NULL;
		if (op && (op->kind == TW_OP_REP || op->kind == TW_OP_LANES || op->kind == TW_OP_XSAVE))
			return 0;
		if (s->kind == TW_STEP_PLAIN && s->flags & TW_STEP_VALUE && s->base != n++)
			return 0;
	}
	return n == c->p->n_values && n <= TW_INLINE_VALUES;
}

int tw_compile_values(struct compiler *c)
{
	uint32_t number = c->p->descriptor->number;
	struct tw_value_place place = tw_value_map_row(c->at->values, number >> 16)[number & 0xffff];
	c->first_slot = place.first;
	c->inlined = !c->p->loops && in_order(c);
	c->open = c->p->open;
	return place.n == c->p->n_values && place.first < (INT32_MAX - sizeof(struct tw_walk)) / sizeof(struct tw_value_slot) - place.n;
}

/* ---- one value ---- */

/* Where what followed the slot's last value stands, as long as rax stays. */
static struct as_mem successor(struct compiler *c, const struct tw_inline_value *v)
{
	return tw_code_successor(&c->a, AS_RAX, SLOT(v, last), CODE_WALK, WALK(values.p.successor).disp);
}

/* slot.step from the new value. */
static void learn_step(struct compiler *c, const struct tw_inline_value *v)
{
	as_move(&c->a, AS_RAX, v->host);
	as_alu_mem32(&c->a, AS_SUB, AS_RAX, last_of_register(v));
	as_store32(&c->a, SLOT(v, step), AS_RAX);
}

/* The value is the slot's last one plus the contents of its machine register: it becomes the slot's last. */
static void add_last(struct compiler *c, const struct tw_inline_value *v)
{
	as_alu_mem(&c->a, AS_ADD, v->host, SLOT(v, last));
	as_store(&c->a, SLOT(v, last), v->host);
	learn_step(c, v);
}

/* The value that a literal says. */
static void take_literal(struct compiler *c, const struct tw_inline_value *v, unsigned kind)
{
	as_load_signed(&c->a, v->host, as_at(CODE_LITERALS, 0), tw_literal_bytes(kind));
	as_alu_constant(&c->a, AS_ADD, CODE_LITERALS, (int32_t)tw_literal_bytes(kind), 1);
	if (kind >= TW_LITERAL + TW_LITERAL_REGISTER) {
		as_alu_mem(&c->a, AS_ADD, v->host, last_of_register(v));
		as_alu_mem(&c->a, AS_SUB, v->host, SLOT(v, last));
	}
	as_store32(&c->a, successor(c, v), v->host);
	add_last(c, v);
}

/* The value by one way to predict it, which becomes the slot's last. */
static void predict(struct compiler *c, const struct tw_inline_value *v, unsigned way)
{
	if (way == TW_WAY_STEP) {
		as_load_signed32(&c->a, v->host, SLOT(v, step));
		as_alu_mem(&c->a, AS_ADD, v->host, last_of_register(v));
		as_store(&c->a, SLOT(v, last), v->host);
	} else if (way == TW_WAY_SUCCESSOR) {
		as_load_signed32(&c->a, v->host, successor(c, v));
		add_last(c, v);
	} else if (way == TW_WAY_LAST) {
		as_load(&c->a, v->host, SLOT(v, last));
		learn_step(c, v);
	} else {
		take_literal(c, v, way);
	}
}

/* A literal of any kind. */
static void take_any_literal(struct compiler *c, const struct tw_inline_value *v)
{
	as_load8(&c->a, AS_RAX, SLOT(v, way));
	as_load(&c->a, v->host, as_at(CODE_LITERALS, 0));
	as_alu_mem(&c->a, AS_AND, v->host, BY_KIND(literal_mask));
	as_alu_mem(&c->a, AS_XOR, v->host, BY_KIND(literal_sign));
	as_alu_mem(&c->a, AS_SUB, v->host, BY_KIND(literal_sign));
	as_alu_mem(&c->a, AS_ADD, CODE_LITERALS, BY_KIND(literal_bytes));
	as_alu_constant(&c->a, AS_CMP, AS_RAX, TW_LITERAL + TW_LITERAL_REGISTER, 0);
	as_load(&c->a, AS_RAX, SLOT(v, last));
	as_load_if(&c->a, AS_ABOVE_EQUAL, AS_RAX, last_of_register(v));
	as_alu(&c->a, AS_ADD, v->host, AS_RAX, 1);
	as_alu_mem(&c->a, AS_SUB, v->host, SLOT(v, last));
	as_store32(&c->a, successor(c, v), v->host);
	add_last(c, v);
}

/* Jumps elsewhere if the value is predicted in another mode than the following code expects. */
static void check_way(struct compiler *c, struct tw_inline_value *v)
{
	int any = v->open && v->way >= TW_LITERAL;
	as_compare8(&c->a, SLOT(v, way), any ? TW_LITERAL : v->way);
	v->other = as_jump_forward(&c->a, any ? AS_BELOW : AS_NOT_EQUAL);
}

void tw_compile_value(struct compiler *c, uint8_t reg, uint8_t host)
{
	struct tw_inline_value *v = &c->value[c->n_inlined];
	unsigned k = c->n_inlined++;
	*v = (struct tw_inline_value){.k = k, .reg = reg, .host = host, .open = c->open >> k & 1};
	v->way = c->slots[c->first_slot + k].way;
	as_decrement32(&c->a, CODE_RUN);
	v->miss = as_jump_forward(&c->a, AS_NEGATIVE);
	check_way(c, v);
	if (v->open && v->way >= TW_LITERAL)
		take_any_literal(c, v);
	else
		predict(c, v, v->way);
	v->learn = c->a.at;
	as_store(&c->a, last_of_register(v), v->host);
	v->learned = c->a.at;
}

/* ---- all of an execution ---- */

/* Into w->record. No register holds anything yet. */
static void take_all(struct compiler *c)
{
	const uint8_t *reg = tw_value_map_registers(c->at->values, c->p->descriptor->number);
	for (unsigned k = 0; k < c->p->n_values; k++) {
		tw_compile_value(c, reg[k], AS_RCX);
		as_store(&c->a, tw_value_memory(c, k), AS_RCX);
	}
}

void tw_compile_take(struct compiler *c)
{
	if (c->p->n_values > TW_INLINE_VALUES) {
		as_constant(&c->a, AS_RCX, c->p->n_values);
		as_constant(&c->a, AS_RAX, c->p->descriptor->number);
		as_call(&c->a, c->at->take);
		return;
	}
	const struct tw_inline_value first = {.k = 0};
	size_t slot = offsetof(struct tw_walk, slot) + c->first_slot * sizeof(struct tw_value_slot);
	as_lea(&c->a, CODE_SLOT, tw_code_walk(slot + TW_SLOT_AHEAD), 1);
	as_compare8(&c->a, SLOT(&first, epoch), 0);
	c->unstarted = as_jump_forward(&c->a, AS_EQUAL);
	c->started = c->a.at;
	if (!c->inlined)
		take_all(c);
}

/* ---- what is not as expected ---- */

/* Has the value taken by what all code shares. */
static void call(struct compiler *c, const struct tw_inline_value *v, const uint8_t *shared)
{
	as_constant(&c->a, AS_RAX, c->first_slot + v->k);
	as_call(&c->a, shared);
	as_move(&c->a, v->host, AS_RAX);
	as_jump(&c->a, v->learned);
}

static void other_ways(struct compiler *c, const struct tw_inline_value *v)
{
	as_here(&c->a, v->other);
	if (!v->open) {
		call(c, v, c->at->other);
		return;
	}
	for (unsigned way = 0; way < TW_NWAYS; way++) {
		if (way == v->way)
			continue;
		as_compare8(&c->a, SLOT(v, way), (uint8_t)way);
		uint8_t *not_this = as_jump_forward(&c->a, AS_NOT_EQUAL);
		predict(c, v, way);
		as_jump(&c->a, v->learn);
		as_here(&c->a, not_this);
	}
	take_any_literal(c, v);
	as_jump(&c->a, v->learn);
}

int tw_compile_unexpected(struct compiler *c)
{
	if (c->unstarted) {
		as_here(&c->a, c->unstarted);
		as_constant(&c->a, AS_RAX, c->p->descriptor->number);
		as_call(&c->a, c->at->start);
		as_jump(&c->a, c->started);
	}
	for (unsigned i = 0; i < c->n_inlined && tw_compile_has_room(c); i++) {
		other_ways(c, &c->value[i]);
		as_here(&c->a, c->value[i].miss);
		call(c, &c->value[i], c->at->miss);
	}
	return tw_compile_has_room(c);
}

#include "jit/area.h"
#include "replay/compile.h"
#include "replay/compile_counted.h"
#include "replay/compile_lanes.h"
#include "replay/compile_values.h"
#include "replay/compiler.h"
#include "replay/slots.h"

/* ---- registers ---- */

/* Writes the slots in register h that memory does not have; h is no longer valid afterwards if `ends`. */
static void write_back(struct compiler *c, unsigned h, int ends)
{
	int32_t now = 0;
	for (unsigned s = 0; s < TW_NREG_SLOTS; s++) {
		struct place *p = &c->slot[s];
		uint8_t from = tw_pool[h];
		if (p->host != h || !p->dirty)
			continue;
		if (p->disp != now) {
			from = ends ? tw_pool[h] : AS_RAX;
			as_lea(&c->a, from, as_at(tw_pool[h], p->disp - now), 1);
			now = ends ? p->disp : 0;
		}
		as_store(&c->a, tw_slot_memory(s), from);
		p->dirty = 0;
	}
}

static void forget(struct compiler *c, unsigned h)
{
	for (unsigned s = 0; s < TW_NREG_SLOTS; s++)
		if (c->slot[s].host == h)
			c->slot[s] = (struct place){.host = TW_NOWHERE};
}

static int is_held(const struct compiler *c, unsigned h)
{
	for (unsigned s = 0; s < TW_NREG_SLOTS; s++)
		if (c->slot[s].host == h)
			return 1;
	return 0;
}

/* A register of the pool for something new: a free one, or the one used least recently. */
static unsigned take(struct compiler *c)
{
	unsigned best = TW_NOWHERE;
	for (unsigned h = 0; h < TW_POOL; h++) {
		if (c->pinned >> h & 1 || (tw_pool[h] == CODE_CUT && c->at->addresses == TW_ADDRESSES_LINES))
			continue;
		if (!is_held(c, h)) {
			best = h;
			break;
		}
		if (best == TW_NOWHERE || c->used[h] < c->used[best])
			best = h;
	}
	write_back(c, best, 1);
	forget(c, best);
	c->used[best] = ++c->clock;
	c->pinned |= 1u << best;
	return best;
}

/* The slot in a register plus a constant. It stays there until the pins are removed. */
static struct place get(struct compiler *c, unsigned slot)
{
	struct place *p = &c->slot[slot];
	if (p->host == TW_NOWHERE) {
		unsigned h = take(c);
		as_load(&c->a, tw_pool[h], tw_slot_memory(slot));
		*p = (struct place){.host = (uint8_t)h};
	}
	c->used[p->host] = ++c->clock;
	c->pinned |= 1u << p->host;
	return *p;
}

static void set(struct compiler *c, unsigned slot, unsigned h, int32_t disp)
{
	c->slot[slot] = (struct place){.host = (uint8_t)h, .dirty = 1, .disp = disp};
}

/* The slot's value itself, in a register that may also be another slot's. */
static uint8_t get_exact(struct compiler *c, unsigned slot)
{
	struct place p = get(c, slot);
	if (!p.disp)
		return tw_pool[p.host];
	as_lea(&c->a, AS_RAX, as_at(tw_pool[p.host], p.disp), 1);
	return AS_RAX;
}

/* ---- addresses ---- */

/* Small enough that sums and differences of two fit a displacement. */
static int fits(int64_t v)
{
	return v >= -(1 << 30) && v < 1 << 30;
}

/* base + (index << scale) + disp as an operand. Where a displacement is too large for one, rax takes part of it. */
static struct as_mem operand(struct compiler *c, unsigned base, unsigned index, unsigned scale, int64_t disp)
{
	struct as_mem m = {AS_NONE, AS_NONE, (uint8_t)scale, 0};
	int64_t sum = disp;
	if (base != TW_SLOT_ZERO) {
		struct place b = get(c, base);
		m.base = tw_pool[b.host];
		sum = (int64_t)((uint64_t)sum + (uint64_t)(int64_t)b.disp);
	}
	if (index != TW_SLOT_ZERO) {
		struct place i = get(c, index);
		m.index = tw_pool[i.host];
		sum = (int64_t)((uint64_t)sum + ((uint64_t)(int64_t)i.disp << scale));
	}
	if (fits(sum)) {
		m.disp = (int32_t)sum;
		return m;
	}
	as_constant(&c->a, AS_RAX, (uint64_t)sum);
	if (m.base != AS_NONE && m.index != AS_NONE)
		as_alu(&c->a, AS_ADD, AS_RAX, m.base, 1);
	else if (m.base != AS_NONE)
		m.index = m.base, m.scale = 0;
	m.base = AS_RAX;
	return m;
}

/* The operand's address in rax or, where it is just that, in the base register. */
static uint8_t address(struct compiler *c, struct as_mem m, int wide)
{
	if (wide && m.base != AS_NONE && m.index == AS_NONE && !m.disp)
		return m.base;
	as_lea(&c->a, AS_RAX, m, wide);
	return AS_RAX;
}

/* ---- what is written to the batch ---- */

/* Whether anybody looks at the address of the reference that comes next. */
static int is_looked_at(const struct compiler *c)
{
	if (c->counted)
		return tw_compile_watches(c);
	return c->at->addresses == TW_ADDRESSES_ALL || tw_addresses_count(c->at->addresses) ||
	       (c->at->addresses == TW_ADDRESSES_OF_CALLS && tw_slot_is(c->stretch, c->n_refs));
}

static void write_address(struct compiler *c, uint8_t reg)
{
	if (c->counted) {
		tw_compile_watch(c, reg);
		return;
	}
	int32_t ahead = TW_CODE_ADDR_AHEAD * sizeof(uint64_t), at = (int32_t)(c->n_refs++ * sizeof(uint64_t)) - ahead - c->addr_moved;
	if (at >= ahead) {
		as_alu_constant(&c->a, AS_SUB, CODE_ADDR, -ahead, 1); /* -128 is one byte, 128 is not */
		c->addr_moved += ahead;
		at -= ahead;
	}
	as_store(&c->a, as_at(CODE_ADDR, at), reg);
}

/* ---- steps ---- */

static void set_sum(struct compiler *c, unsigned dest, unsigned base, unsigned index, unsigned scale, int64_t disp, int wide)
{
	struct place b = {.host = TW_NOWHERE};
	if (wide && base != TW_SLOT_ZERO && index == TW_SLOT_ZERO)
		b = get(c, base);
	if (b.host != TW_NOWHERE && fits(disp + b.disp)) {
		set(c, dest, b.host, (int32_t)(disp + b.disp));
		return;
	}
	struct as_mem m = operand(c, base, index, scale, disp);
	unsigned h = take(c);
	as_lea(&c->a, tw_pool[h], m, wide);
	set(c, dest, h, 0);
}

static void plain_ref(struct compiler *c, const struct tw_step *s)
{
	if (!is_looked_at(c)) {
		c->n_refs++;
		return;
	}
	uint8_t reg = address(c, operand(c, s->base, s->index, s->scale, s->disp), 1);
	if (s->seg != TW_SLOT_ZERO) {
		if (reg != AS_RAX)
			as_move(&c->a, AS_RAX, reg);
		as_alu_mem(&c->a, AS_ADD, reg = AS_RAX, tw_slot_memory(s->seg));
	}
	write_address(c, reg);
}

static int keeps_registers(const struct compiler *c)
{
	return c->at->addresses != TW_ADDRESSES_NONE;
}

static void take_value(struct compiler *c, const struct tw_step *s, uint8_t host)
{
	if (c->inlined)
		tw_compile_value(c, s->dest, host);
	else
		as_load(&c->a, host, tw_value_memory(c, s->base));
}

static void plain(struct compiler *c, const struct tw_step *s)
{
	if (s->flags & TW_STEP_VALUE) {
		unsigned h = take(c);
		take_value(c, s, tw_pool[h]);
		if (keeps_registers(c))
			set(c, s->dest, h, 0);
	} else if (s->flags & TW_STEP_REF) {
		plain_ref(c, s);
	} else if (keeps_registers(c)) {
		set_sum(c, s->dest, s->base, s->index, s->scale, s->disp, 1);
	}
}

/* ---- operations with flags ---- */

static unsigned slot_of(uint8_t reg)
{
	return reg < TW_NREGS ? reg : TW_SLOT_ZERO;
}

static void flagged_ref(struct compiler *c, const struct tw_op *op)
{
	if (!is_looked_at(c)) {
		c->n_refs++;
		return;
	}
	struct as_mem m = operand(c, slot_of(op->base), slot_of(op->index), op->scale, op->disp);
	as_lea(&c->a, AS_RAX, m, !(op->flags & TW_OPF_ADDR32));
	tw_compile_segment(c, AS_RAX, op);
	if (op->flags & TW_OPF_LINE)
		as_alu_constant(&c->a, AS_AND, AS_RAX, -64, 1);
	write_address(c, AS_RAX);
}

/* The second operand of a calculation, in a register: R[index], or disp. */
static uint8_t second_operand(struct compiler *c, const struct tw_op *op)
{
	if (op->index < TW_NREGS)
		return get_exact(c, op->index);
	as_constant(&c->a, AS_RAX, (uint64_t)op->disp);
	return AS_RAX;
}

static void extend(struct compiler *c, const struct tw_op *op, unsigned bits, int sign, int wide)
{
	uint8_t from = get_exact(c, slot_of(op->base));
	unsigned h = take(c);
	as_extend(&c->a, tw_pool[h], from, bits, sign, wide);
	set(c, op->count, h, 0);
}

static void combine(struct compiler *c, const struct tw_op *op, int wide)
{
	static const uint8_t alu[] = {[TW_CALC_AND] = AS_AND, [TW_CALC_OR] = AS_OR, [TW_CALC_XOR] = AS_XOR, [TW_CALC_SUB] = AS_SUB};
	struct place b = get(c, slot_of(op->base));
	unsigned h = take(c);
	as_lea(&c->a, tw_pool[h], as_at(tw_pool[b.host], b.disp), 1);
	uint8_t from = second_operand(c, op);
	if (op->type == TW_CALC_MUL)
		as_multiply(&c->a, tw_pool[h], from, wide);
	else
		as_alu(&c->a, (enum as_alu)alu[op->type], tw_pool[h], from, wide);
	set(c, op->count, h, 0);
}

static void shift(struct compiler *c, const struct tw_op *op, int wide)
{
	static const uint8_t shifts[] = {[TW_CALC_SHL] = AS_SHL, [TW_CALC_SHR] = AS_SHR, [TW_CALC_SAR] = AS_SAR};
	struct place b = get(c, slot_of(op->base));
	unsigned h = take(c), count = (unsigned)op->disp & (wide ? 63 : 31);
	as_lea(&c->a, tw_pool[h], as_at(tw_pool[b.host], b.disp), wide);
	if (count)
		as_shift(&c->a, (enum as_shift)shifts[op->type], tw_pool[h], (uint8_t)count, wide);
	set(c, op->count, h, 0);
}

static void calculate(struct compiler *c, const struct tw_op *op)
{
	int wide = !(op->flags & TW_OPF_ADDR32);
	switch (op->type) {
	case TW_CALC_SHL:
	case TW_CALC_SHR:
	case TW_CALC_SAR:
		shift(c, op, wide);
		break;
	case TW_CALC_SX8:
	case TW_CALC_SX16:
		extend(c, op, op->type == TW_CALC_SX8 ? 8 : 16, 1, wide);
		break;
	case TW_CALC_SX32:
		extend(c, op, 32, 1, 1);
		break;
	case TW_CALC_ZX8:
	case TW_CALC_ZX16:
		extend(c, op, op->type == TW_CALC_ZX8 ? 8 : 16, 0, 0);
		break;
	default:
		combine(c, op, wide);
	}
}

/* Whether an operation that is not plain has code of its own. */
static int is_simple(const struct tw_op *op)
{
	int shifts = op->type == TW_CALC_SHL || op->type == TW_CALC_SHR || op->type == TW_CALC_SAR;
	switch (op->kind) {
	case TW_OP_SET:
	case TW_OP_REF:
		return !(op->flags & ~(TW_OPF_ADDR32 | TW_OPF_LINE));
	case TW_OP_CALC:
		return op->type < TW_NCALCS && op->base < TW_NREGS && !(op->flags & ~TW_OPF_ADDR32) && (!shifts || op->index >= TW_NREGS);
	default:
		return 0;
	}
}

static void simple(struct compiler *c, const struct tw_op *op)
{
	if (op->kind == TW_OP_REF)
		flagged_ref(c, op);
	else if (!keeps_registers(c))
		return;
	else if (op->kind == TW_OP_CALC)
		calculate(c, op);
	else
		set_sum(c, op->count, slot_of(op->base), slot_of(op->index), op->scale, op->disp, !(op->flags & TW_OPF_ADDR32));
}

/* ---- stretches: what lies between two calls of the helper ---- */

/* A step the helper is called for. */
static int needs_helper(const struct compiler *c, const struct tw_step *s)
{
	return s->kind == TW_STEP_OTHER && !is_simple(c->ops + s->base);
}

static int is_end(const struct compiler *c, const struct tw_step *s)
{
	return s->kind == TW_STEP_END || needs_helper(c, s);
}

static int makes_ref(const struct compiler *c, const struct tw_step *s)
{
	return s->kind == TW_STEP_PLAIN ? s->flags & TW_STEP_REF : s->kind == TW_STEP_OTHER && c->ops[s->base].kind == TW_OP_REF;
}

static struct tw_ref_shape *list_refs(struct compiler *c, const struct tw_step *s)
{
	struct tw_ref_shape *shape = tw_compile_data(c, 0);
	for (; !is_end(c, s); s++) {
		if (!makes_ref(c, s))
			continue;
		*(struct tw_ref_shape *)tw_compile_data(c, sizeof *shape) = tw_batch_shape(s->pc, s->shape);
		c->stretch->n_refs++;
	}
	return shape;
}

static void list_block(struct compiler *c, unsigned k, unsigned first_ref)
{
	const struct tw_block *b = tw_descriptor_blocks(c->p->descriptor) + k;
	*(struct tw_block_run *)tw_compile_data(c, sizeof(struct tw_block_run)) = (struct tw_block_run){
	    .pc = b->pc, .descriptor = c->p->descriptor, .first_ref = first_ref, .block = (uint16_t)k, .n_insns = b->n_insns};
	c->stretch->n_blocks++;
}

static struct tw_block_run *list_blocks(struct compiler *c, const struct tw_step *s)
{
	struct tw_block_run *run = tw_compile_data(c, 0);
	unsigned n_refs = 0;
	if (s == c->p->step)
		list_block(c, 0, 0);
	for (; !is_end(c, s); s++) {
		if (s->kind == TW_STEP_BLOCK)
			list_block(c, s->base, n_refs);
		n_refs += makes_ref(c, s);
	}
	return run;
}

static void start_stretch(struct compiler *c, const struct tw_step *s)
{
	const uint32_t number = tw_compile_number(c);
	c->stretch = &c->at->stretches[number];
	*c->stretch = (struct tw_stretch){.number = number};
	c->stretch->refs = list_refs(c, s);
	c->stretch->blocks = list_blocks(c, s);
	c->stretch->reserved = tw_slot_summary(c->stretch);
	c->n_refs = 0;
	c->addr_moved = 0;
}

/* What the stretch counts, as in w->sums. */
static uint64_t sums_of(const struct tw_stretch *s)
{
	uint64_t sums = (uint64_t)s->n_blocks << TW_SUM_BLOCKS;
	for (uint32_t i = 0; i < s->n_blocks; i++)
		sums += (uint64_t)s->blocks[i].n_insns << TW_SUM_INSNS;
	for (uint32_t i = 0; i < s->n_refs; i++)
		sums += (s->refs[i].type & TW_READ ? 1ull << TW_SUM_READS : 0) + (s->refs[i].type & TW_WRITE ? 1ull << TW_SUM_WRITES : 0);
	return sums;
}

/* Where the stretch is, to the batch. */
static void write_stretch(struct compiler *c)
{
	uintptr_t at = (uintptr_t)c->stretch + (uintptr_t)c->at->run;
	if (at <= INT32_MAX) {
		as_store_constant(&c->a, as_at(CODE_STRETCH, 0), (int32_t)at);
	} else {
		as_lea_data(&c->a, AS_RAX, (const uint8_t *)c->stretch);
		as_store(&c->a, as_at(CODE_STRETCH, 0), AS_RAX);
	}
	as_alu_constant(&c->a, AS_ADD, CODE_STRETCH, sizeof(struct tw_stretch *), 1);
}

/* Registers to memory, and the batch is moved on. */
static void end_stretch(struct compiler *c)
{
	for (unsigned h = 0; h < TW_POOL; h++) {
		write_back(c, h, 0);
		forget(c, h);
	}
	if (!c->stretch->n_blocks && !c->stretch->n_refs)
		return;
	if (c->counted) {
		tw_compile_count(c);
		return;
	}
	write_stretch(c);
	if ((int32_t)(c->n_refs * sizeof(uint64_t)) != c->addr_moved)
		as_alu_constant(&c->a, AS_ADD, CODE_ADDR, (int32_t)(c->n_refs * sizeof(uint64_t)) - c->addr_moved, 1);
	if (tw_addresses_count(c->at->addresses)) {
		tw_compile_count_insns(c);
		return;
	}
	uint64_t *sums = tw_compile_data(c, sizeof *sums);
	*sums = sums_of(c->stretch);
	as_add_data(&c->a, CODE_SUMS, (const uint8_t *)sums);
}

/* Returns the step after the stretch; NULL: no room. */
static const struct tw_step *stretch(struct compiler *c, const struct tw_step *s)
{
	start_stretch(c, s);
	for (; !is_end(c, s); s++) {
		if (!tw_compile_has_room(c))
			return NULL;
		if (s->kind == TW_STEP_PLAIN)
			plain(c, s);
		else if (s->kind == TW_STEP_OTHER)
			simple(c, c->ops + s->base);
		c->pinned = 0;
	}
	end_stretch(c);
	return s;
}

/* Returns 0 if there is no room. */
static int all_steps(struct compiler *c)
{
	const struct tw_step *s = c->p->step;
	for (; (s = stretch(c, s)) && tw_compile_has_room(c) && s->kind != TW_STEP_END; s++)
		if (!tw_compile_lanes(c, s))
			tw_compile_helper(c, s);
	return s && s->kind == TW_STEP_END;
}

/* ---- programs ---- */

/* Whether an execution writes one stretch, all of whose references are known. */
static int is_static(const struct compiler *c)
{
	const struct tw_step *s = c->p->step;
	while (!is_end(c, s))
		s++;
	return s->kind == TW_STEP_END;
}

/* One check suffices: executions that write this many addresses to each stretch reach the end of both no later than TW_CODE_STRETCHES. */
static void if_full(struct compiler *c, const uint8_t *to)
{
	if (tw_addresses_count(c->at->addresses)) {
		tw_compile_if_full(c, to);
		return;
	}
	int fixed = is_static(c);
	int many = c->stretch->n_refs >= TW_BATCH / TW_BATCH_STRETCHES;
	if (many || !fixed) {
		as_alu_mem(&c->a, AS_CMP, CODE_ADDR, WALK(code_addr_limit));
		as_jump_if(&c->a, AS_ABOVE_EQUAL, to);
	}
	if (!many || !fixed) {
		as_alu_mem(&c->a, AS_CMP, CODE_STRETCH, WALK(stretch_limit));
		as_jump_if(&c->a, AS_ABOVE_EQUAL, to);
	}
}

void tw_compile_dispatch(struct as *a, const struct tw_compile_place *place)
{
	if (!place->values) {
		as_alu_mem(a, AS_CMP, CODE_C, WALK(c_end));
		as_jump_if(a, AS_ABOVE_EQUAL, place->out);
	}
	as_load16(a, AS_RAX, as_at(CODE_C, 0));
	as_alu_constant(a, AS_ADD, CODE_C, sizeof(uint16_t), 1);
	as_load(a, AS_RCX, WALK(code_row));
	as_jump_mem(a, (struct as_mem){AS_RCX, AS_RAX, 3, 0});
}

/* Makes sure that the execution's values are there. */
static void check_values(struct compiler *c)
{
	if (c->at->values) {
		tw_compile_take(c);
		return;
	}
	as_lea(&c->a, AS_RAX, as_at(CODE_M, (int32_t)(c->p->n_values * sizeof(uint64_t))), 1);
	as_alu_mem(&c->a, AS_CMP, AS_RAX, WALK(m_end));
	as_jump_if(&c->a, AS_ABOVE, c->at->back);
}

static void go_on(struct compiler *c)
{
	if (c->p->n_values && !c->at->values)
		as_alu_constant(&c->a, AS_ADD, CODE_M, (int32_t)(c->p->n_values * sizeof(uint64_t)), 1);
	if_full(c, c->at->out);
	tw_compile_dispatch(&c->a, c->at);
}

static int compile_plain(struct compiler *c)
{
	if (c->p->n_values)
		check_values(c);
	if (!all_steps(c))
		return 0;
	go_on(c);
	return 1;
}

/* The walk must refuse a count, in rax, of more executions than the chunk has instructions for. */
static void check_count(struct compiler *c)
{
	const uint8_t *back = c->at->values ? c->at->back_taken : c->at->back;
	as_move(&c->a, AS_RCX, AS_RAX);
	as_shift(&c->a, AS_SHR, AS_RCX, 32, 1);
	as_jump_if(&c->a, AS_NOT_EQUAL, back);
	as_constant(&c->a, AS_RCX, c->p->descriptor->n_insns);
	as_multiply(&c->a, AS_RCX, AS_RAX, 1);
	as_alu_mem(&c->a, AS_ADD, AS_RCX, WALK(insns));
	as_constant(&c->a, AS_RDX, tw_addresses_count(c->at->addresses) ? UINT64_MAX : (1u << TW_SUM_BLOCKS) - 1);
	as_alu(&c->a, AS_AND, AS_RDX, CODE_SUMS, 1);
	as_alu(&c->a, AS_ADD, AS_RCX, AS_RDX, 1);
	as_alu_mem(&c->a, AS_CMP, AS_RCX, WALK(insns_room));
	as_jump_if(&c->a, AS_ABOVE, back);
}

/* w->left counts down; if the batch becomes full in between, the code is entered again with the rest. */
static int compile_loop(struct compiler *c)
{
	as_load(&c->a, AS_RAX, WALK(left));
	as_test(&c->a, AS_RAX, 1);
	uint8_t *resumed = as_jump_forward(&c->a, AS_NOT_EQUAL);
	check_values(c);
	as_load(&c->a, AS_RAX, tw_value_memory(c, 0));
	as_test(&c->a, AS_RAX, 1);
	uint8_t *none = as_jump_forward(&c->a, AS_EQUAL);
	check_count(c);
	as_store(&c->a, WALK(left), AS_RAX);
	as_here(&c->a, resumed);
	const uint8_t *again = c->a.at;
	if (!all_steps(c))
		return 0;
	as_decrement(&c->a, WALK(left));
	uint8_t *done = as_jump_forward(&c->a, AS_EQUAL);
	if_full(c, c->at->back);
	as_jump(&c->a, again);
	as_here(&c->a, none);
	as_here(&c->a, done);
	go_on(c);
	return 1;
}

/* What stretches of a program point to takes at most so much. */
static size_t data_bytes(const struct tw_descriptor *d)
{
	size_t lanes = 0;
	for (unsigned i = 0; i < d->n_ops; i++)
		lanes += tw_compile_has_lanes(tw_descriptor_ops(d) + i) ? tw_compile_lanes_data() : 0;
	return (d->n_ops + 1u) * (sizeof(struct tw_ref_shape) + sizeof(uint64_t)) + d->n_blocks * sizeof(struct tw_block_run) + lanes;
}

const uint8_t *tw_compile(struct tw_compile_place *place, const struct tw_program *p, const struct tw_value_slot *slots)
{
	const struct tw_descriptor *d = p->descriptor;
	struct compiler c = {.a = {place->code}, .at = place, .data = place->data, .p = p, .ops = tw_descriptor_ops(d), .slots = slots};
	for (unsigned s = 0; s < TW_NREG_SLOTS; s++)
		c.slot[s].host = TW_NOWHERE;
	if (p->insn_pc || (p->loops && !is_static(&c)) || d->n_blocks > TW_CODE_BLOCKS || d->n_insns > TW_CODE_INSNS)
		return NULL;
	if (place->most_stretches - place->n_stretches < d->n_ops + 1u)
		return NULL;
	if ((size_t)(place->data_end - place->data) < data_bytes(d) || place->code_end - place->code < (2 + p->n_values) * TW_STEP_CODE)
		return NULL;
	if (place->values && !tw_compile_values(&c))
		return NULL;
	c.counted = tw_addresses_count(place->addresses) && is_static(&c);
	if (!(p->loops ? compile_loop(&c) : compile_plain(&c)) || !tw_compile_unexpected(&c) || !tw_compile_odd(&c))
		return NULL;
	tw_compile_other_lanes(&c);
	const uint8_t *start = place->code;
	place->code = c.a.at;
	place->data = c.data;
	return start;
}

#include "recording/encode_code.h"
#include "jit/area.h"
#include "jit/assemble.h"
#include "recording/encoder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Fragments with more values have no code. */
enum { AREA_BYTES = 1 << 26, MAX_VALUES = 64 };

/* Bytes of code: of a fragment without values, and of each value, at most. */
enum { TAG_CODE = 256, VALUE_CODE = 512 };

/* Machine registers with a fixed meaning in all code; functions that are called keep them. rax, rcx, rdx are for one value. */
enum {
	ENCODER = AS_RBX, /* struct tw_encoder */
	ROW = AS_RBP,     /* where code begins, by tag */
	M = AS_R12,       /* piece.m */
	RUN = AS_R13,     /* piece.run */
	C = AS_R14,       /* piece.c */
	SLOTS = AS_R15,   /* values.slot */
	VALUE = AS_RCX,
	PREDICTED = AS_RDX,
};

/* The area is made when the first fragment is worth it: most processes are short. */
enum { UNUSED, READY, FAILED };

struct tw_encoder_code {
	struct tw_code_area area;
	pthread_mutex_t lock; /* for adding */
	_Atomic int state;
	uint8_t *at, *end; /* as written: free */
	const uint8_t *out, *back, *miss;
	const uint8_t *entry; /* to be run: void entry(encoder, row) */
	struct tw_code_counts counts;
};

#define OF(field) as_at(ENCODER, (int32_t)offsetof(struct tw_encoder, field))

/* ---- what all code shares ---- */

static const uint8_t saved[] = {AS_RBX, AS_RBP, AS_R12, AS_R13, AS_R14, AS_R15};

static void emit_entry(struct as *a)
{
	for (unsigned i = 0; i < sizeof saved; i++)
		as_push(a, saved[i]);
	as_alu_constant(a, AS_SUB, AS_RSP, 8, 1);
	as_move(a, ENCODER, AS_RDI);
	as_move(a, ROW, AS_RSI);
	as_load(a, M, OF(piece.m));
	as_load(a, RUN, OF(piece.run));
	as_load(a, C, OF(piece.c));
	as_load(a, SLOTS, OF(values.slot));
}

static void emit_exit(struct as *a)
{
	as_store(a, OF(piece.m), M);
	as_store(a, OF(piece.run), RUN);
	as_store(a, OF(piece.c), C);
	as_alu_constant(a, AS_ADD, AS_RSP, 8, 1);
	for (unsigned i = sizeof saved; i-- > 0;)
		as_pop(a, saved[i]);
	as_return(a);
}

/* Takes what comes next in the tags into rax, or goes on at `none`. */
static void emit_take(struct as *a, const uint8_t *none)
{
	as_alu_mem(a, AS_CMP, C, OF(piece.c_end));
	as_jump_if(a, AS_ABOVE_EQUAL, none);
	as_load16(a, AS_RAX, as_at(C, 0));
	as_alu_constant(a, AS_ADD, C, sizeof(uint16_t), 1);
}

/* Takes the next tag and goes on with its code, or out. */
static void emit_dispatch(struct as *a, const struct tw_encoder_code *c)
{
	emit_take(a, c->out);
	tw_code_emit_jump(a, ROW, AS_RAX, c->back);
}

/* tw_encoder_miss(encoder, esi, rcx, rdx). */
static void emit_miss(struct as *a)
{
	as_alu_constant(a, AS_SUB, AS_RSP, 8, 1);
	as_move(a, AS_RAX, AS_RCX);
	as_move(a, AS_RCX, AS_RDX);
	as_move(a, AS_RDX, AS_RAX);
	as_move(a, AS_RDI, ENCODER);
	as_constant(a, AS_RAX, (uintptr_t)tw_encoder_miss);
	as_call_reg(a, AS_RAX);
	as_alu_constant(a, AS_ADD, AS_RSP, 8, 1);
	as_return(a);
}

/* The code of TW_TAG_UPPER: the tag after it is the upper half of those that follow. */
static void emit_upper(struct as *a, const struct tw_encoder_code *c)
{
	emit_take(a, c->back);
	as_store32(a, OF(values.upper), AS_RAX);
	tw_code_emit_row(a, &c->area, ROW, AS_RAX, c->out);
	emit_dispatch(a, c);
}

static void emit_shared(struct tw_encoder_code *c)
{
	struct as a = {c->area.written};
	c->back = a.at;
	as_alu_constant(&a, AS_SUB, C, sizeof(uint16_t), 1);
	c->out = a.at;
	emit_exit(&a);
	c->miss = a.at;
	emit_miss(&a);
	const uint8_t *upper = a.at;
	emit_upper(&a, c);
	c->entry = tw_code_runnable(&c->area, a.at);
	emit_entry(&a);
	emit_dispatch(&a, c);
	tw_code_area_begin(&c->area, upper);
	c->at = a.at;
	c->end = c->area.written + AREA_BYTES;
}

struct tw_encoder_code *tw_encoder_code_new(void)
{
	struct tw_encoder_code *c = calloc(1, sizeof *c);
	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

void tw_encoder_code_free(struct tw_encoder_code *c)
{
	if (!c)
		return;
	tw_code_counts_fini(&c->counts);
	if (c->state == READY)
		tw_code_area_fini(&c->area);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void tw_encoder_code_run(struct tw_encoder_code *c, struct tw_encoder *e)
{
	void (*entry)(struct tw_encoder *, const uint8_t *const *);
	if (atomic_load_explicit(&c->state, memory_order_acquire) != READY)
		return;
	memcpy(&entry, &c->entry, sizeof entry);
	entry(e, tw_code_area_row(&c->area, e->values.upper));
	tw_set_upper(&e->values, e->values.upper);
}

/* ---- one value ---- */

/* A value of the fragment, and jumps to what stands behind its code. */
struct value {
	uint32_t slot;
	unsigned k; /* its place in the record */
	uint8_t reg;
	uint8_t way;             /* that is expected */
	uint8_t *other;          /* predicted in another way */
	uint8_t *miss[TW_NWAYS]; /* not as predicted, by way */
	const uint8_t *next;
};

static struct as_mem of_slot(const struct value *v, size_t field)
{
	return as_at(SLOTS, (int32_t)(v->slot * sizeof(struct tw_value_slot) + field));
}

#define SLOT(v, field) of_slot(v, offsetof(struct tw_value_slot, field))

/* The last value of the slot's register. */
static struct as_mem last_of_register(const struct value *v)
{
	return as_at(ENCODER, (int32_t)(offsetof(struct tw_encoder, values.reg) + v->reg * sizeof(uint64_t)));
}

static void learn_step(struct as *a, const struct value *v)
{
	as_move(a, AS_RAX, VALUE);
	as_alu_mem32(a, AS_SUB, AS_RAX, last_of_register(v));
	as_store32(a, SLOT(v, step), AS_RAX);
}

static void compare_step(struct as *a, struct value *v)
{
	as_load_signed32(a, PREDICTED, SLOT(v, step));
	as_alu_mem(a, AS_ADD, PREDICTED, last_of_register(v));
	as_alu(a, AS_CMP, VALUE, PREDICTED, 1);
	v->miss[TW_WAY_STEP] = as_jump_forward(a, AS_NOT_EQUAL);
	as_store(a, SLOT(v, last), VALUE);
}

static void compare_last(struct as *a, struct value *v)
{
	as_alu_mem(a, AS_CMP, VALUE, SLOT(v, last));
	v->miss[TW_WAY_LAST] = as_jump_forward(a, AS_NOT_EQUAL);
	learn_step(a, v);
}

static void compare_successor(struct as *a, struct value *v)
{
	struct as_mem successor = {ENCODER, PREDICTED, 3, (int32_t)offsetof(struct tw_encoder, values.successor)};
	as_constant(a, PREDICTED, TW_SUCCESSOR_FACTOR);
	as_load(a, AS_RAX, SLOT(v, last));
	as_multiply(a, PREDICTED, AS_RAX, 1);
	as_shift(a, AS_SHR, PREDICTED, 64 - TW_SUCCESSOR_BITS, 1);
	as_alu_mem(a, AS_CMP, VALUE, successor);
	v->miss[TW_WAY_SUCCESSOR] = as_jump_forward(a, AS_NOT_EQUAL);
	learn_step(a, v);
	as_store(a, SLOT(v, last), VALUE);
}

/* Compares the value with what is predicted in one way, and learns it. */
static void compare(struct as *a, struct value *v, unsigned way)
{
	if (way == TW_WAY_STEP)
		compare_step(a, v);
	else if (way == TW_WAY_LAST)
		compare_last(a, v);
	else
		compare_successor(a, v);
	as_store(a, last_of_register(v), VALUE);
}

static void in_line(struct as *a, struct value *v)
{
	as_load(a, VALUE, as_at(M, (int32_t)(v->k * sizeof(uint64_t))));
	as_compare8(a, SLOT(v, way), v->way);
	v->other = as_jump_forward(a, AS_NOT_EQUAL);
	compare(a, v, v->way);
	v->next = a->at;
}

/* What is not as expected. RUN counts what came before the fragment, which has what is in it added at its end. */
static void out_of_line(struct as *a, const struct tw_encoder_code *c, struct value *v)
{
	unsigned second = (v->way + 1u) % TW_NWAYS, third = (v->way + 2u) % TW_NWAYS;
	as_here(a, v->other);
	as_compare8(a, SLOT(v, way), (uint8_t)second);
	uint8_t *not_second = as_jump_forward(a, AS_NOT_EQUAL);
	compare(a, v, second);
	as_jump(a, v->next);
	as_here(a, not_second);
	compare(a, v, third);
	as_jump(a, v->next);
	for (unsigned way = 0; way < TW_NWAYS; way++)
		as_here(a, v->miss[way]);
	as_lea(a, AS_RDX, as_at(RUN, (int32_t)v->k), 1);
	as_constant(a, AS_RSI, v->slot);
	as_call(a, c->miss);
	as_constant(a, RUN, (uint64_t) - (int64_t)(v->k + 1));
	as_jump(a, v->next);
}

/* ---- fragments ---- */

/* Goes back where the values are not all there, or the fragment is new in this chunk. */
static void check(struct as *a, const struct tw_encoder_code *c, const struct value *first, uint32_t n)
{
	as_lea(a, AS_RAX, as_at(M, (int32_t)(n * sizeof(uint64_t))), 1);
	as_alu_mem(a, AS_CMP, AS_RAX, OF(piece.m_end));
	as_jump_if(a, AS_ABOVE, c->back);
	as_load16(a, AS_RAX, OF(values.epoch));
	as_compare16(a, SLOT(first, epoch), AS_RAX);
	as_jump_if(a, AS_NOT_EQUAL, c->back);
}

static void compile(struct tw_encoder_code *c, const struct tw_value_slot *slots, uint32_t first, uint32_t n)
{
	struct as a = {c->at};
	struct value value[MAX_VALUES];
	for (uint32_t k = 0; k < n; k++)
		value[k] = (struct value){.slot = first + k, .k = k, .reg = slots[first + k].reg, .way = slots[first + k].way};
	if (n)
		check(&a, c, value, n);
	for (uint32_t k = 0; k < n; k++)
		in_line(&a, &value[k]);
	if (n) {
		as_alu_constant(&a, AS_ADD, RUN, (int32_t)n, 1);
		as_alu_constant(&a, AS_ADD, M, (int32_t)(n * sizeof(uint64_t)), 1);
	}
	emit_dispatch(&a, c);
	for (uint32_t k = 0; k < n; k++)
		out_of_line(&a, c, &value[k]);
	c->at = a.at;
}

/* Under the lock. */
static int has_room(struct tw_encoder_code *c)
{
	if (c->state == UNUSED && tw_code_area_init(&c->area, AREA_BYTES)) {
		c->state = FAILED;
	} else if (c->state == UNUSED) {
		emit_shared(c);
		atomic_store_explicit(&c->state, READY, memory_order_release);
	}
	return c->state == READY && c->end - c->at > TAG_CODE + VALUE_CODE * MAX_VALUES;
}

static void add(struct tw_encoder_code *c, const struct tw_encoder *e, uint32_t number, uint32_t first, uint32_t n)
{
	if (n > MAX_VALUES || first > INT32_MAX / sizeof(struct tw_value_slot) - MAX_VALUES)
		return;
	pthread_mutex_lock(&c->lock);
	if (has_room(c)) {
		const uint8_t *code = c->at;
		compile(c, e->values.slot, first, n);
		tw_code_area_set(&c->area, number, code);
	}
	pthread_mutex_unlock(&c->lock);
}

void tw_encoder_code_ran(struct tw_encoder_code *c, const struct tw_encoder *e, uint32_t number, uint32_t first, uint32_t n)
{
	if (tw_code_ran(&c->counts, number))
		add(c, e, number, first, n);
}

void tw_encoder_code_forget(struct tw_encoder_code *c, uint32_t first)
{
	pthread_mutex_lock(&c->lock);
	if (c->state == READY)
		tw_code_area_forget(&c->area, first);
	pthread_mutex_unlock(&c->lock);
}

#include "recording/encode_code.h"
#include "base/zeros.h"
#include "jit/area.h"
#include "jit/assemble.h"
#include "recording/encoder.h"
#include "recording/predictor_code.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Fragments with more values have no code. */
enum { AREA_BYTES = 1 << 26, MAX_VALUES = 64 };

/* Maximum number of fragments with code if they come in records: beyond that encode_records.c is faster. */
enum { MOST_FRAGMENTS = 8192 };

/*
 * Minimum length of a chunk, and tags per fragment in it, before code is made: making it takes as long as it saves
 * over a thousand records.
 */
enum { LEAST_TAGS = 1 << 18, LEAST_OFTEN = 500 };

/* Bytes of code: of a fragment without values, and of each value, at most. */
enum { TAG_CODE = 256, VALUE_CODE = 512 };

/* Machine registers with a fixed meaning in all code; functions that are called keep them. rax, rcx, rdx are for one value. */
enum {
	ENCODER = AS_RBX, /* struct tw_encoder, and BIAS */
	ROW = AS_RBP,     /* where code begins, by tag */
	M = AS_R12,       /* piece.m; of records records.p */
	RUN = AS_R13,     /* piece.run */
	C = AS_R14,       /* piece.c; of records tags_end */
	SLOTS = AS_R15,   /* the fragment's slots */
	LITERALS = AS_R8, /* piece.literals, but not in functions that are called */
	TAG = AS_R11,     /* of a record, where its code begins */
	VALUE = AS_RCX,
	PREDICTED = AS_RDX,
	SUMS = 0, /* vector: records.sums, insns_blocks and refs_reads; likewise */
};

/* The fields of the encoder, and of slots, that code uses most are within byte displacements. */
enum { BIAS = 64, SLOT_BIAS = 128 };

/* The area is made when the first fragment is worth it: most processes are short. */
enum { UNUSED, READY, FAILED };

/* Code for what is encoded in one form: streams, or records. */
struct form {
	int records;
	struct tw_code_area area;
	_Atomic int state;
	uint8_t *at, *end; /* as written: free */
	const uint8_t *out, *back, *value, *literal;
	const uint8_t *entry; /* to be run: void entry(encoder, row) */
	struct tw_code_counts counts;
};

enum { STREAMS, RECORDS, FORMS };

struct tw_encoder_code {
	pthread_mutex_t lock; /* for adding */
	tw_encoder_value_function one_value;
	_Atomic uint32_t n_fragments; /* that have code for their records */
	_Atomic int takes_records;
	struct form form[FORMS];
};

_Static_assert(sizeof(struct tw_value_slot) == 1 << 4 && !offsetof(struct tw_value_slot, last), "emit_literal counts on it");
_Static_assert(TW_LITERAL_REGISTER == 8 && TW_LITERAL_KINDS == 16, "likewise");

#define OFFSET_OF(field) ((int32_t)offsetof(struct tw_encoder, field) - BIAS)
#define OF(field)        as_at(ENCODER, OFFSET_OF(field))

/* ---- what all code shares ---- */

static const uint8_t saved[] = {AS_RBX, AS_RBP, AS_R12, AS_R13, AS_R14, AS_R15};

static void emit_entry(struct as *a, const struct form *f)
{
	for (unsigned i = 0; i < sizeof saved; i++)
		as_push(a, saved[i]);
	as_alu_constant(a, AS_SUB, AS_RSP, 8, 1);
	as_lea(a, ENCODER, as_at(AS_RDI, BIAS), 1);
	as_move(a, ROW, AS_RSI);
	as_load(a, M, f->records ? OF(records.p) : OF(piece.m));
	as_load(a, C, f->records ? OF(tags_end) : OF(piece.c));
	as_load(a, RUN, OF(piece.run));
	as_load(a, LITERALS, OF(piece.literals));
	if (f->records)
		as_load_vector_at(a, SUMS, OF(records.sums));
}

static void emit_exit(struct as *a, const struct form *f)
{
	as_store(a, f->records ? OF(records.p) : OF(piece.m), M);
	as_store(a, f->records ? OF(tags_end) : OF(piece.c), C);
	as_store(a, OF(piece.run), RUN);
	as_store(a, OF(piece.literals), LITERALS);
	if (f->records)
		as_store_vector(a, OF(records.sums), SUMS);
	as_alu_constant(a, AS_ADD, AS_RSP, 8, 1);
	for (unsigned i = sizeof saved; i-- > 0;)
		as_pop(a, saved[i]);
	as_return(a);
}

/* Streams: takes the next tag into rax, or continues at `none`. */
static void emit_take(struct as *a, const uint8_t *none)
{
	as_alu_mem(a, AS_CMP, C, OF(piece.c_end));
	as_jump_if(a, AS_ABOVE_EQUAL, none);
	as_load16(a, AS_RAX, as_at(C, 0));
	as_alu_constant(a, AS_ADD, C, sizeof(uint16_t), 1);
}

/* Takes the next tag and goes on with its code, or out. */
static void emit_dispatch(struct as *a, const struct form *f)
{
	if (!f->records) {
		emit_take(a, f->out);
		tw_code_emit_jump(a, ROW, AS_RAX, f->back);
		return;
	}
	as_alu_mem(a, AS_CMP, M, OF(records.limit));
	as_jump_if(a, AS_ABOVE, f->out);
	as_load16(a, TAG, as_at(M, 0));
	tw_code_emit_jump(a, ROW, TAG, f->out);
}

/* RUN = value(encoder, rdi, rcx, rax) - rax + RUN. */
static void emit_value(struct as *a, const struct form *f, tw_encoder_value_function value)
{
	as_alu(a, AS_SUB, RUN, AS_RAX, 1);
	as_store(a, OF(piece.literals), LITERALS);
	if (f->records)
		as_store_vector(a, OF(records.sums), SUMS);
	as_alu_constant(a, AS_SUB, AS_RSP, 8, 1);
	as_move(a, AS_RSI, AS_RDI);
	as_move(a, AS_RDX, AS_RCX);
	as_move(a, AS_RCX, AS_RAX);
	as_lea(a, AS_RDI, as_at(ENCODER, -BIAS), 1);
	as_constant(a, AS_RAX, (uintptr_t)value);
	as_call_reg(a, AS_RAX);
	as_alu_constant(a, AS_ADD, AS_RSP, 8, 1);
	if (f->records)
		as_load_vector_at(a, SUMS, OF(records.sums));
	as_load(a, LITERALS, OF(piece.literals));
	as_alu(a, AS_ADD, RUN, AS_RAX, 1);
	as_alu_constant(a, AS_SUB, RUN, 1, 1);
	as_return(a);
}

/* ---- a value of a slot whose values are literals ---- */

/* The slot, the place of its register's last value, and the place of its successor. */
enum { SLOT = AS_RDI, OF_REGISTER = AS_R10, SUCCESSOR = AS_R11 };

static void emit_find(struct as *a)
{
	struct as_mem reg = {ENCODER, AS_RDX, 3, OFFSET_OF(values.reg)};
	as_load8(a, AS_RDX, TW_SLOT_AT(SLOT, reg));
	as_lea(a, OF_REGISTER, reg, 1);
	as_lea(a, SUCCESSOR, tw_code_successor(a, SUCCESSOR, TW_SLOT_AT(SLOT, last), ENCODER, OFFSET_OF(values.successor)), 1);
}

/* r9: the slot's doubt, incremented if the value would have been predicted, otherwise 0. */
static void emit_doubt(struct as *a)
{
	as_load_signed32(a, AS_RAX, TW_SLOT_AT(SLOT, step));
	as_alu_mem(a, AS_ADD, AS_RAX, as_at(OF_REGISTER, 0));
	as_alu(a, AS_CMP, AS_RAX, VALUE, 1);
	as_set(a, AS_EQUAL, AS_RDX);
	as_alu_mem(a, AS_CMP, VALUE, TW_SLOT_AT(SLOT, last));
	as_set(a, AS_EQUAL, AS_RAX);
	as_alu(a, AS_OR, AS_RDX, AS_RAX, 0);
	as_load_signed32(a, AS_RAX, as_at(SUCCESSOR, 0));
	as_alu_mem(a, AS_ADD, AS_RAX, TW_SLOT_AT(SLOT, last));
	as_alu(a, AS_CMP, AS_RAX, VALUE, 1);
	as_set(a, AS_EQUAL, AS_RAX);
	as_alu(a, AS_OR, AS_RDX, AS_RAX, 0);
	as_alu_constant(a, AS_AND, AS_RDX, 1, 0);
	as_alu_constant(a, AS_ADD, AS_R9, 1, 0);
	as_multiply(a, AS_R9, AS_RDX, 0);
}

/* Writes the literal, and compares it, in rax, with its significant part. rdx: its bytes, less 1. */
static void emit_write(struct as *a)
{
	as_load8(a, AS_RDX, TW_SLOT_AT(SLOT, way));
	as_alu_constant(a, AS_SUB, AS_RDX, TW_LITERAL, 0);
	as_move(a, AS_RSI, AS_RDX);
	as_shift(a, AS_SHR, AS_RSI, 3, 0);
	as_move(a, AS_RAX, OF_REGISTER);
	as_alu(a, AS_SUB, AS_RAX, SLOT, 1);
	as_multiply(a, AS_RSI, AS_RAX, 1);
	as_move(a, AS_RAX, VALUE);
	as_alu_mem(a, AS_SUB, AS_RAX, (struct as_mem){SLOT, AS_RSI, 0, 0});
	as_store(a, as_at(LITERALS, 0), AS_RAX);
	as_alu_constant(a, AS_AND, AS_RDX, 7, 0);
	as_move(a, AS_RSI, VALUE);
	as_move(a, AS_RCX, AS_RDX);
	tw_code_cut(a, AS_RAX);
	as_move(a, VALUE, AS_RSI);
	as_alu_mem(a, AS_CMP, AS_RAX, as_at(LITERALS, 0));
}

/* Like emit_value, without a branch on the value's kind, unless the encoder's own function must take it. rax is preserved. */
static void emit_literal(struct as *a, const uint8_t *value)
{
	as_push(a, AS_RAX);
	emit_find(a);
	as_load(a, AS_RAX, OF(piece.literals_before));
	as_alu(a, AS_ADD, AS_RAX, LITERALS, 1);
	as_alu_constant(a, AS_AND, AS_RAX, TW_NOT_LOOKED_AT, 0);
	as_load8(a, AS_R9, TW_SLOT_AT(SLOT, doubt));
	uint8_t *quick = as_jump_forward(a, AS_NOT_EQUAL);
	emit_doubt(a);
	as_alu_constant(a, AS_CMP, AS_R9, TW_MOST_PREDICTED, 0);
	uint8_t *predicted = as_jump_forward(a, AS_ABOVE_EQUAL);
	as_here(a, quick);
	emit_write(a);
	uint8_t *too_long = as_jump_forward(a, AS_NOT_EQUAL);
	as_lea(a, LITERALS, (struct as_mem){LITERALS, AS_RDX, 0, 1}, 1);
	tw_code_follow(a, VALUE, AS_RAX, SLOT, as_at(SUCCESSOR, 0));
	as_store8_register(a, TW_SLOT_AT(SLOT, doubt), AS_R9);
	tw_code_learn(a, VALUE, AS_RAX, SLOT, OF_REGISTER);
	as_pop(a, AS_RAX);
	as_return(a);
	as_here(a, predicted);
	as_here(a, too_long);
	as_pop(a, AS_RAX);
	as_jump(a, value);
}

/* ---- all shared code ---- */

/* The code of TW_TAG_UPPER: it is followed by the upper half of the next tags. */
static void emit_upper(struct as *a, const struct form *f)
{
	if (f->records) {
		as_load16(a, AS_RAX, as_at(M, sizeof(uint16_t)));
		as_store16(a, as_at(C, 0), TAG);
		as_store16(a, as_at(C, sizeof(uint16_t)), AS_RAX);
		as_alu_constant(a, AS_ADD, M, 2 * sizeof(uint16_t), 1);
		as_alu_constant(a, AS_ADD, C, 2 * sizeof(uint16_t), 1);
	} else {
		emit_take(a, f->back);
	}
	as_store32(a, OF(values.upper), AS_RAX);
	tw_code_emit_row(a, &f->area, ROW, AS_RAX, f->out);
	emit_dispatch(a, f);
}

static void emit_shared(struct form *f, tw_encoder_value_function value)
{
	struct as a = {f->area.written};
	f->back = a.at;
	if (!f->records)
		as_alu_constant(&a, AS_SUB, C, sizeof(uint16_t), 1);
	f->out = a.at;
	emit_exit(&a, f);
	f->value = a.at;
	emit_value(&a, f, value);
	f->literal = a.at;
	emit_literal(&a, f->value);
	const uint8_t *upper = a.at;
	emit_upper(&a, f);
	f->entry = tw_code_runnable(&f->area, a.at);
	emit_entry(&a, f);
	emit_dispatch(&a, f);
	tw_code_area_begin(&f->area, upper);
	f->at = a.at;
	f->end = f->area.written + AREA_BYTES;
}

struct tw_encoder_code *tw_encoder_code_new(tw_encoder_value_function value)
{
	struct tw_encoder_code *c = tw_zeros_new(sizeof *c);
	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	c->one_value = value;
	c->form[RECORDS].records = 1;
	return c;
}

void tw_encoder_code_free(struct tw_encoder_code *c)
{
	if (!c)
		return;
	for (struct form *f = c->form; f < c->form + FORMS; f++) {
		tw_code_counts_fini(&f->counts);
		if (f->state == READY)
			tw_code_area_fini(&f->area);
	}
	pthread_mutex_destroy(&c->lock);
	tw_zeros_free(c, sizeof *c);
}

static void run(struct form *f, struct tw_encoder *e)
{
	void (*entry)(struct tw_encoder *, const uint8_t *const *);
	if (atomic_load_explicit(&f->state, memory_order_acquire) != READY)
		return;
	memcpy(&entry, &f->entry, sizeof entry);
	entry(e, tw_code_area_row(&f->area, e->values.upper));
	tw_set_upper(&e->values, e->values.upper);
}

int tw_encoder_code_has_record(const struct tw_encoder_code *c, const struct tw_encoder *e, uint16_t tag)
{
	const struct form *f = &c->form[RECORDS];
	return atomic_load_explicit(&f->state, memory_order_acquire) == READY && tw_code_area_row(&f->area, e->values.upper)[tag];
}

void tw_encoder_code_run(struct tw_encoder_code *c, struct tw_encoder *e)
{
	run(&c->form[STREAMS], e);
}

void tw_encoder_code_run_records(struct tw_encoder_code *c, struct tw_encoder *e)
{
	run(&c->form[RECORDS], e);
}

/* ---- one value ---- */

/* A value of the fragment, and jumps to what stands behind its code. */
struct value {
	unsigned k; /* its place in the record, and its slot's among the fragment's */
	int32_t at; /* where it stands behind M */
	uint8_t reg;
	uint8_t way;             /* that is expected */
	uint8_t *other;          /* predicted in another way */
	uint8_t *miss[TW_NWAYS]; /* not as predicted, by way */
	const uint8_t *next;
};

static struct as_mem of_value(const struct value *v, size_t field)
{
	return as_at(SLOTS, (int32_t)(v->k * sizeof(struct tw_value_slot) + field) - SLOT_BIAS);
}

#define SLOT_OF(v, field) of_value(v, offsetof(struct tw_value_slot, field))

/* The last value of the slot's register. */
static struct as_mem last_of_register(const struct value *v)
{
	return as_at(ENCODER, OFFSET_OF(values.reg) + (int32_t)(v->reg * sizeof(uint64_t)));
}

static void learn_step(struct as *a, const struct value *v)
{
	as_move(a, AS_RAX, VALUE);
	as_alu_mem32(a, AS_SUB, AS_RAX, last_of_register(v));
	as_store32(a, SLOT_OF(v, step), AS_RAX);
}

static void compare_step(struct as *a, struct value *v)
{
	as_load_signed32(a, PREDICTED, SLOT_OF(v, step));
	as_alu_mem(a, AS_ADD, PREDICTED, last_of_register(v));
	as_alu(a, AS_CMP, VALUE, PREDICTED, 1);
	v->miss[TW_WAY_STEP] = as_jump_forward(a, AS_NOT_EQUAL);
	as_store(a, SLOT_OF(v, last), VALUE);
}

static void compare_last(struct as *a, struct value *v)
{
	as_alu_mem(a, AS_CMP, VALUE, SLOT_OF(v, last));
	v->miss[TW_WAY_LAST] = as_jump_forward(a, AS_NOT_EQUAL);
	learn_step(a, v);
}

/* Place of the successor of the slot's last value, valid while `reg` is unchanged. */
static struct as_mem successor(struct as *a, const struct value *v, uint8_t reg)
{
	return tw_code_successor(a, reg, SLOT_OF(v, last), ENCODER, OFFSET_OF(values.successor));
}

static void compare_successor(struct as *a, struct value *v)
{
	as_load_signed32(a, PREDICTED, successor(a, v, PREDICTED));
	as_alu_mem(a, AS_ADD, PREDICTED, SLOT_OF(v, last));
	as_alu(a, AS_CMP, VALUE, PREDICTED, 1);
	v->miss[TW_WAY_SUCCESSOR] = as_jump_forward(a, AS_NOT_EQUAL);
	learn_step(a, v);
	as_store(a, SLOT_OF(v, last), VALUE);
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
	as_store8(a, SLOT_OF(v, doubt), 0);
}

/* Has shared code take a value. RUN counts what came before the fragment; the fragment's own part is added at its end. */
static void call(struct as *a, const uint8_t *shared, const struct value *v)
{
	as_lea(a, AS_RAX, as_at(RUN, (int32_t)v->k), 1);
	as_lea(a, SLOT, of_value(v, 0), 1);
	as_call(a, shared);
}

static void in_line(struct as *a, const struct form *f, struct value *v)
{
	as_load(a, VALUE, as_at(M, v->at));
	as_compare8(a, SLOT_OF(v, way), v->way < TW_NWAYS ? v->way : TW_LITERAL);
	v->other = as_jump_forward(a, v->way < TW_NWAYS ? AS_NOT_EQUAL : AS_BELOW);
	if (v->way < TW_NWAYS)
		compare(a, v, v->way);
	else
		call(a, f->literal, v);
	v->next = a->at;
}

/* What is not as expected. */
static void out_of_line(struct as *a, const struct form *f, struct value *v)
{
	for (unsigned way = 0; way < TW_NWAYS; way++) {
		if (way == v->way)
			continue;
		as_here(a, v->other);
		as_compare8(a, SLOT_OF(v, way), (uint8_t)way);
		v->other = as_jump_forward(a, AS_NOT_EQUAL);
		compare(a, v, way);
		as_jump(a, v->next);
	}
	as_here(a, v->other);
	call(a, f->literal, v);
	as_jump(a, v->next);
	for (unsigned way = 0; way < TW_NWAYS; way++)
		as_here(a, v->miss[way]);
	call(a, f->value, v);
	as_jump(a, v->next);
}

/* ---- fragments ---- */

/* SLOTS, the first being this one. Exits if the fragment is new in this chunk, or not all values of streams are there. */
static void check(struct as *a, const struct form *f, uint32_t first, uint32_t n)
{
	const struct value v = {.k = 0};
	if (!f->records) {
		as_lea(a, AS_RAX, as_at(M, (int32_t)(n * sizeof(uint64_t))), 1);
		as_alu_mem(a, AS_CMP, AS_RAX, OF(piece.m_end));
		as_jump_if(a, AS_ABOVE, f->back);
	}
	as_load(a, SLOTS, OF(values.slot));
	as_alu_constant(a, AS_ADD, SLOTS, (int32_t)(first * sizeof(struct tw_value_slot)) + SLOT_BIAS, 1);
	as_load8(a, AS_RAX, OF(values.epoch));
	as_compare8_register(a, SLOT_OF(&v, epoch), AS_RAX);
	as_jump_if(a, AS_NOT_EQUAL, f->back);
}

/* A sum that each turn of the loop at M counts for. */
static void count_turns(struct as *a, struct as_mem sum, uint64_t each)
{
	if (!each)
		return;
	as_multiply_constant(a, AS_RAX, as_at(M, TW_RECORD_HEAD), (int32_t)each);
	as_add_to_mem(a, sum, AS_RAX);
}

static void count_loop(struct as *a, const struct tw_record_sums *each)
{
	count_turns(a, OF(records.turns.insns), (uint32_t)each->insns_blocks);
	count_turns(a, OF(records.turns.blocks), each->insns_blocks >> 32);
	count_turns(a, OF(records.turns.refs), (uint32_t)each->refs_reads);
	count_turns(a, OF(records.turns.reads), each->refs_reads >> 32);
	count_turns(a, OF(records.turns.writes), each->writes);
}

/* What a record counts for, its constants at `at`. */
static void count_record(struct as *a, const struct tw_code_sums *sums, const uint8_t *at)
{
	if (sums->is_loop) {
		count_loop(a, sums->each);
		return;
	}
	as_add_quadwords(a, SUMS, at);
	if (sums->each->writes)
		as_add_constant_mem(a, OF(records.sums.writes), (int32_t)sums->each->writes);
}

/* Continues with what comes next. `at`: constants of what it counts for, if it is a record. */
static void finish(struct as *a, const struct form *f, uint32_t n, const struct tw_code_sums *sums, const uint8_t *at)
{
	const int32_t bytes = (int32_t)(n * sizeof(uint64_t)) + (f->records ? TW_RECORD_HEAD : 0);
	if (f->records)
		count_record(a, sums, at);
	if (n)
		as_alu_constant(a, AS_ADD, RUN, (int32_t)n, 1);
	if (bytes)
		as_alu_constant(a, AS_ADD, M, bytes, 1);
	emit_dispatch(a, f);
}

/* Constants precede the code, so that they are near it in the caches. */
static const uint8_t *put_sums(struct as *a, const struct tw_record_sums *each)
{
	uint8_t *at = a->at + (-(uintptr_t)a->at & 15);
	memcpy(at, each, 16);
	a->at = at + 16;
	return at;
}

/* Returns where the fragment's code begins, as written. */
static const uint8_t *compile(struct form *f, const struct tw_value_slot *slots, uint32_t first, uint32_t n,
                              const struct tw_code_sums *sums)
{
	struct as a = {f->at};
	struct value value[MAX_VALUES];
	for (uint32_t k = 0; k < n; k++)
		value[k] = (struct value){.k = k,
		                          .at = (int32_t)(k * sizeof(uint64_t)) + (f->records ? TW_RECORD_HEAD : 0),
		                          .reg = slots[first + k].reg,
		                          .way = slots[first + k].way};
	const uint8_t *constants = f->records && !sums->is_loop ? put_sums(&a, sums->each) : NULL, *start = a.at;
	if (n)
		check(&a, f, first, n);
	if (f->records) {
		as_store16(&a, as_at(C, 0), TAG);
		as_alu_constant(&a, AS_ADD, C, sizeof(uint16_t), 1);
	}
	for (uint32_t k = 0; k < n; k++)
		in_line(&a, f, &value[k]);
	finish(&a, f, n, sums, constants);
	for (uint32_t k = 0; k < n; k++)
		out_of_line(&a, f, &value[k]);
	f->at = a.at;
	return start;
}

/* Under the lock. */
static int has_room(const struct tw_encoder_code *c, struct form *f)
{
	if (f->state == UNUSED && tw_code_area_init(&f->area, AREA_BYTES)) {
		f->state = FAILED;
	} else if (f->state == UNUSED) {
		emit_shared(f, c->one_value);
		atomic_store_explicit(&f->state, READY, memory_order_release);
	}
	return f->state == READY && f->end - f->at > TAG_CODE + VALUE_CODE * MAX_VALUES;
}

static void add(struct tw_encoder_code *c, struct form *f, const struct tw_encoder *e, uint32_t number, uint32_t first, uint32_t n,
                const struct tw_code_sums *sums)
{
	if (n > MAX_VALUES || first > INT32_MAX / sizeof(struct tw_value_slot) - MAX_VALUES)
		return;
	pthread_mutex_lock(&c->lock);
	if (has_room(c, f))
		tw_code_area_set(&f->area, number, compile(f, e->values.slot, first, n, sums));
	if (sums && ++c->n_fragments > MOST_FRAGMENTS)
		atomic_store_explicit(&c->takes_records, 0, memory_order_relaxed);
	pthread_mutex_unlock(&c->lock);
}

int tw_encoder_code_takes_records(const struct tw_encoder_code *c)
{
	return atomic_load_explicit(&c->takes_records, memory_order_relaxed);
}

void tw_encoder_code_saw(struct tw_encoder_code *c, size_t tags, size_t fragments)
{
	if (tags >= LEAST_TAGS && tags / LEAST_OFTEN >= fragments && c->n_fragments <= MOST_FRAGMENTS)
		atomic_store_explicit(&c->takes_records, 1, memory_order_relaxed);
}

void tw_encoder_code_ran(struct tw_encoder_code *c, const struct tw_encoder *e, uint32_t number, uint32_t first, uint32_t n,
                         const struct tw_code_sums *sums)
{
	struct form *f = &c->form[sums ? RECORDS : STREAMS];
	if (sums && !tw_encoder_code_takes_records(c))
		return;
	if (tw_code_ran(&f->counts, number))
		add(c, f, e, number, first, n, sums);
}

void tw_encoder_code_forget_one(struct tw_encoder_code *c, uint32_t number)
{
	pthread_mutex_lock(&c->lock);
	for (struct form *f = c->form; f < c->form + FORMS; f++)
		if (f->state == READY)
			tw_code_area_forget_one(&f->area, number);
	pthread_mutex_unlock(&c->lock);
}

void tw_encoder_code_forget(struct tw_encoder_code *c, uint32_t first)
{
	pthread_mutex_lock(&c->lock);
	for (struct form *f = c->form; f < c->form + FORMS; f++)
		if (f->state == READY)
			tw_code_area_forget(&f->area, first);
	pthread_mutex_unlock(&c->lock);
}

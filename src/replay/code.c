#include "replay/code.h"
#include "jit/area.h"
#include "replay/compile.h"
#include "replay/compile_counted.h"
#include "replay/compile_miss.h"
#include "replay/state.h"

#include <pthread.h>
#include <stdlib.h>

/* Code from the start of the area, data that stretches refer to from its middle, and stretches in its last part, side by side. */
enum { AREA_BYTES = 1 << 29, DATA_AT = AREA_BYTES / 2 };
enum { STRETCHES_AT = AREA_BYTES - TW_KEPT_STRETCHES * sizeof(struct tw_stretch) };

enum { ADDR_AHEAD = TW_CODE_ADDR_AHEAD * sizeof(uint64_t) };

struct tw_code {
	struct tw_code_area area;
	pthread_mutex_t lock;          /* for adding */
	struct tw_compile_place place; /* as written */
	const uint8_t *entry;          /* to be run: int entry(walk, row) */
	size_t huge_data, huge_stretches;
};

/* ---- what all code shares ---- */

static const uint8_t saved[] = {AS_RBX, AS_RBP, AS_R12, AS_R13, AS_R14, AS_R15};

/*
 * The end of the batch, the sums, the number of predicted values, and the literals: in registers while code runs, but
 * not in functions it calls.
 */
static void emit_load_batch(struct as *a, const struct tw_compile_place *place)
{
	as_load(a, CODE_ADDR, WALK(addr));
	as_lea(a, CODE_ADDR, as_at(CODE_ADDR, ADDR_AHEAD), 1);
	as_load(a, CODE_STRETCH, WALK(stretch));
	as_load(a, CODE_SUMS, WALK(sums));
	as_constant(a, CODE_CUT, TW_COUNTED_CUT);
	if (place->values) {
		as_load(a, CODE_RUN, WALK(values.run));
		as_load(a, CODE_LITERALS, WALK(values.literals.at));
	}
}

static void emit_store_batch(struct as *a, const struct tw_compile_place *place)
{
	as_lea(a, CODE_ADDR, as_at(CODE_ADDR, -ADDR_AHEAD), 1);
	as_store(a, WALK(addr), CODE_ADDR);
	as_store(a, WALK(stretch), CODE_STRETCH);
	as_store(a, WALK(sums), CODE_SUMS);
	if (place->values) {
		as_store(a, WALK(values.run), CODE_RUN);
		as_store(a, WALK(values.literals.at), CODE_LITERALS);
	}
}

/* rdi is the walk, rsi where code begins, by tag. */
static void emit_entry(struct as *a, const struct tw_compile_place *place)
{
	for (unsigned i = 0; i < sizeof saved; i++)
		as_push(a, saved[i]);
	as_alu_constant(a, AS_SUB, AS_RSP, 8, 1);
	as_lea(a, CODE_WALK, as_at(AS_RDI, TW_WALK_AHEAD), 1);
	as_store(a, WALK(code_row), AS_RSI);
	emit_load_batch(a, place);
	as_load(a, CODE_C, WALK(c));
	if (!place->values)
		as_load(a, CODE_M, WALK(m));
}

/* rax is the result. */
static void emit_exit(struct as *a, const struct tw_compile_place *place)
{
	emit_store_batch(a, place);
	as_store(a, WALK(c), CODE_C);
	if (!place->values)
		as_store(a, WALK(m), CODE_M);
	as_alu_constant(a, AS_ADD, AS_RSP, 8, 1);
	for (unsigned i = sizeof saved; i-- > 0;)
		as_pop(a, saved[i]);
	as_return(a);
}

/* Calls tw_walk_help(walk, rsi, rdx, values), and goes out where that fails. */
static void emit_helper(struct as *a, const struct tw_compile_place *place)
{
	emit_store_batch(a, place);
	as_lea(a, AS_RDI, tw_code_walk(0), 1);
	if (place->values)
		as_lea(a, AS_RCX, WALK(record), 1);
	else
		as_move(a, AS_RCX, CODE_M);
	as_alu_constant(a, AS_SUB, AS_RSP, 8, 1);
	as_constant(a, AS_RAX, (uintptr_t)tw_walk_help);
	as_call_reg(a, AS_RAX);
	as_alu_constant(a, AS_ADD, AS_RSP, 8, 1);
	emit_load_batch(a, place);
	as_test(a, AS_RAX, 0);
	uint8_t *failed = as_jump_forward(a, AS_NOT_EQUAL);
	as_return(a);
	as_here(a, failed);
	as_alu_constant(a, AS_ADD, AS_RSP, 8, 1); /* the return address */
	emit_exit(a, place);
}

/* ---- values that are coded ---- */

/* Registers that may hold registers of the program, and CODE_STRETCH: an odd number, so that the stack is aligned in called functions. */
static const uint8_t kept[] = {AS_RCX, AS_RDX, AS_RSI, AS_R8, AS_R9, AS_R10, CODE_STRETCH};

static uint64_t other_way(struct tw_walk *w, uint32_t slot)
{
	return w->other_way(w, slot);
}

/* Calls a function of the reader with its first argument and rsi unchanged; exits if the section is not valid. */
static void emit_reader_call(struct as *a, const struct tw_compile_place *place, uintptr_t function, int is_walks)
{
	uint8_t *failed;
	as_store(a, WALK(values.run), CODE_RUN);
	as_store(a, WALK(values.literals.at), CODE_LITERALS);
	as_store(a, WALK(c), CODE_C);
	as_lea(a, AS_RDI, is_walks ? tw_code_walk(0) : WALK(values), 1);
	as_constant(a, AS_RAX, function);
	as_call_reg(a, AS_RAX);
	as_load(a, CODE_RUN, WALK(values.run));
	as_load(a, CODE_LITERALS, WALK(values.literals.at));
	for (unsigned i = sizeof kept; i-- > 0;)
		as_pop(a, kept[i]);
	as_test(a, CODE_RUN, 1);
	failed = as_jump_forward(a, AS_NEGATIVE);
	as_return(a);
	as_here(a, failed);
	as_alu_constant(a, AS_ADD, AS_RSP, 8, 1); /* the return address */
	as_constant(a, AS_RAX, (uint32_t)TW_ERR_DAMAGED);
	emit_exit(a, place);
}

static void emit_keep(struct as *a)
{
	for (unsigned i = 0; i < sizeof kept; i++)
		as_push(a, kept[i]);
	as_move(a, AS_RSI, AS_RAX);
}

static void emit_values(struct tw_code *c, struct as *a)
{
	struct tw_compile_place *place = &c->place;
	const uint8_t *by_reader = a->at, *often;
	as_constant(a, CODE_RUN, 0);
	emit_keep(a);
	emit_reader_call(a, place, (uintptr_t)tw_value_reader_miss, 0);
	place->miss = a->at;
	tw_compile_miss(a, by_reader);
	often = a->at;
	emit_keep(a);
	emit_reader_call(a, place, (uintptr_t)other_way, 1);
	place->other = a->at;
	tw_compile_other(a, often);
	place->start = a->at;
	emit_keep(a);
	emit_reader_call(a, place, (uintptr_t)tw_value_reader_start, 0);
	place->take = a->at;
	emit_keep(a);
	as_move(a, AS_RDX, AS_RCX);
	emit_reader_call(a, place, (uintptr_t)tw_walk_take, 1);
	place->back_taken = a->at;
	as_constant(a, AS_RAX, 1);
	as_store32(a, WALK(taken), AS_RAX);
	as_jump(a, place->back);
}

/* The code of TW_TAG_UPPER: the tag after it is the upper half of those that follow. */
static void emit_upper(struct tw_code *c, struct as *a)
{
	as_alu_mem(a, AS_CMP, CODE_C, WALK(c_end));
	as_jump_if(a, AS_ABOVE_EQUAL, c->place.back);
	as_load16(a, AS_RAX, as_at(CODE_C, 0));
	as_alu_constant(a, AS_ADD, CODE_C, sizeof(uint16_t), 1);
	as_store32(a, WALK(upper), AS_RAX);
	tw_code_emit_row(a, &c->area, AS_RCX, AS_RAX, c->place.out);
	as_store(a, WALK(code_row), AS_RCX);
	tw_compile_dispatch(a, &c->place);
}

static void emit_shared(struct tw_code *c)
{
	struct as a = {c->area.written};
	c->place.back = a.at;
	as_alu_constant(&a, AS_SUB, CODE_C, sizeof(uint16_t), 1);
	c->place.out = a.at;
	as_constant(&a, AS_RAX, 0);
	emit_exit(&a, &c->place);
	c->place.helper = a.at;
	emit_helper(&a, &c->place);
	if (c->place.values)
		emit_values(c, &a);
	c->place.odd = a.at;
	tw_compile_take_odd(&a);
	const uint8_t *upper = a.at;
	emit_upper(c, &a);
	c->entry = tw_code_runnable(&c->area, a.at);
	emit_entry(&a, &c->place);
	tw_compile_dispatch(&a, &c->place);
	tw_code_area_begin(&c->area, upper);
	tw_code_area_fill(&c->area, c->place.back);
	c->place.code = a.at;
	c->place.code_end = c->area.written + DATA_AT;
	c->place.data = c->area.written + DATA_AT;
	c->place.data_end = c->area.written + STRETCHES_AT;
	c->place.stretches = (struct tw_stretch *)(c->area.written + STRETCHES_AT);
	c->place.most_stretches = TW_KEPT_STRETCHES - 1; /* there is no number 0 */
}

/* ---- programs ---- */

struct tw_code *tw_code_new(const struct tw_value_map *values)
{
	struct tw_code *c = calloc(1, sizeof *c);
	if (!c || tw_code_area_init(&c->area, AREA_BYTES)) {
		free(c);
		return NULL;
	}
	pthread_mutex_init(&c->lock, NULL);
	c->huge_data = DATA_AT;
	c->huge_stretches = STRETCHES_AT;
	c->place.values = values;
	c->place.run = c->area.run - c->area.written;
	emit_shared(c);
	return c;
}

void tw_code_set_addresses(struct tw_code *c, enum tw_addresses addresses)
{
	c->place.addresses = addresses;
}

enum tw_addresses tw_code_addresses(const struct tw_code *c)
{
	return c ? c->place.addresses : TW_ADDRESSES_ALL;
}

const uint32_t *tw_code_newest_stretch(const struct tw_code *c)
{
	return c ? &c->place.n_stretches : NULL;
}

struct tw_kept_stretches tw_code_stretches(const struct tw_code *c)
{
	if (!c)
		return (struct tw_kept_stretches){0};
	return (struct tw_kept_stretches){(const struct tw_stretch *)(c->area.run + STRETCHES_AT), TW_KEPT_STRETCHES};
}

void tw_code_free(struct tw_code *c)
{
	if (!c)
		return;
	tw_code_area_fini(&c->area);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Called under the lock. */
static void add(struct tw_code *c, const struct tw_program *p, const struct tw_value_slot *slots)
{
	const uint8_t *code = tw_compile(&c->place, p, slots);
	if (code)
		tw_code_area_set(&c->area, p->descriptor->number, code);
	tw_code_area_grew(&c->area, &c->huge_data, c->place.data);
	tw_code_area_grew(&c->area, &c->huge_stretches, c->place.stretches + c->place.n_stretches);
}

void tw_code_add(struct tw_code *c, const struct tw_program *p, const struct tw_value_slot *slots)
{
	pthread_mutex_lock(&c->lock);
	add(c, p, slots);
	pthread_mutex_unlock(&c->lock);
}

int tw_code_try_add(struct tw_code *c, const struct tw_program *p, const struct tw_value_slot *slots)
{
	if (pthread_mutex_trylock(&c->lock))
		return 0;
	add(c, p, slots);
	pthread_mutex_unlock(&c->lock);
	return 1;
}

int tw_code_has(const struct tw_code *c, uint32_t number)
{
	const uint8_t *const *row = tw_numbered_row(&c->area.entries, number / TW_NUMBERED_ROW);
	return row && row[number % TW_NUMBERED_ROW] != tw_code_runnable(&c->area, c->place.back);
}

int tw_code_run(struct tw_code *c, struct tw_walk *w)
{
	int (*entry)(struct tw_walk *, const uint8_t *const *);
	const uint8_t *const *row = tw_numbered_row(&c->area.entries, w->upper);
	memcpy(&entry, &c->entry, sizeof entry);
	return row ? entry(w, row) : 0;
}

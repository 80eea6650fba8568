#include "channel/demux_code.h"
#include "base/zeros.h"
#include "jit/area.h"
#include "jit/assemble.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Code from the start of the area, constants from its middle on. */
enum { AREA_BYTES = 1 << 26, DATA_AT = AREA_BYTES / 2, RECORD_CODE = 4096 };

/* Machine registers with a fixed meaning in all code. */
enum {
	WALK = AS_RDI,   /* struct tw_demux_plain */
	ROW = AS_RSI,    /* where code begins, by tag */
	P = AS_RDX,      /* p */
	M = AS_RCX,      /* m */
	C = AS_R8,       /* c */
	LIMIT = AS_R9,   /* limit */
	WRITES = AS_R10, /* writes */
	TAG = AS_R11,    /* of the record */
	SUMS = 0,        /* vector: insns_blocks, refs_reads */
	COPIED = 1,      /* vectors from here on: for copying */
};

/* The area is made when the first fragment is worth it: most processes are short. */
enum { UNUSED, READY, FAILED };

struct tw_demux_code {
	struct tw_code_area area;
	pthread_mutex_t lock; /* for adding */
	_Atomic int state;
	uint8_t *at, *data;   /* as written: free */
	const uint8_t *out;   /* with the next record at P */
	const uint8_t *entry; /* to be run: void entry(walk, row) */
	struct tw_code_counts counts;
};

#define OF(field) as_at(WALK, (int32_t)offsetof(struct tw_demux_plain, field))

/* ---- what all code shares ---- */

static void emit_entry(struct as *a)
{
	as_load(a, P, OF(p));
	as_load(a, M, OF(m));
	as_load(a, C, OF(c));
	as_load(a, LIMIT, OF(limit));
	as_load(a, WRITES, OF(writes));
	as_load_vector_at(a, SUMS, OF(insns_blocks));
}

static void emit_exit(struct as *a)
{
	as_store(a, OF(p), P);
	as_store(a, OF(m), M);
	as_store(a, OF(c), C);
	as_store(a, OF(writes), WRITES);
	as_store_vector(a, OF(insns_blocks), SUMS);
	as_return(a);
}

/* Goes on with the code of the next record, or out. */
static void emit_dispatch(struct as *a, const struct tw_demux_code *c)
{
	as_alu(a, AS_CMP, P, LIMIT, 1);
	as_jump_if(a, AS_ABOVE, c->out);
	as_load16(a, TAG, as_at(P, 0));
	tw_code_emit_jump(a, ROW, TAG, c->out);
}

/* The code of a TW_TAG_UPPER record. */
static void emit_upper(struct as *a, const struct tw_demux_code *c)
{
	as_store16(a, as_at(C, 0), TAG);
	as_load16(a, AS_RAX, as_at(P, 2));
	as_store16(a, as_at(C, 2), AS_RAX);
	as_store32(a, OF(upper), AS_RAX);
	as_alu_constant(a, AS_ADD, P, 4, 1);
	as_alu_constant(a, AS_ADD, C, 4, 1);
	tw_code_emit_row(a, &c->area, ROW, AS_RAX, c->out);
	emit_dispatch(a, c);
}

static void emit_shared(struct tw_demux_code *c)
{
	struct as a = {c->area.written};
	c->out = a.at;
	emit_exit(&a);
	const uint8_t *upper = a.at;
	emit_upper(&a, c);
	c->entry = tw_code_runnable(&c->area, a.at);
	emit_entry(&a);
	emit_dispatch(&a, c);
	tw_code_area_begin(&c->area, upper);
	c->at = a.at;
	c->data = c->area.written + DATA_AT;
}

struct tw_demux_code *tw_demux_code_new(void)
{
	struct tw_demux_code *c = tw_zeros_new(sizeof *c);
	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

void tw_demux_code_free(struct tw_demux_code *c)
{
	if (!c)
		return;
	tw_code_counts_fini(&c->counts);
	if (c->state == READY)
		tw_code_area_fini(&c->area);
	pthread_mutex_destroy(&c->lock);
	tw_zeros_free(c, sizeof *c);
}

void tw_demux_code_run(struct tw_demux_code *c, struct tw_demux_plain *w)
{
	void (*entry)(struct tw_demux_plain *, const uint8_t *const *);
	if (w->p > w->limit || atomic_load_explicit(&c->state, memory_order_acquire) != READY)
		return;
	memcpy(&entry, &c->entry, sizeof entry);
	entry(w, tw_code_area_row(&c->area, w->upper));
}

/* ---- fragments ---- */

static void copy_values(struct as *a, unsigned head, unsigned n)
{
	unsigned k = 0;
	for (; k + 1 < n; k += 2) {
		uint8_t vector = (uint8_t)(COPIED + k / 2 % 4);
		as_load_vector_at(a, vector, as_at(P, (int32_t)(head + 8 * k)));
		as_store_vector(a, as_at(M, (int32_t)(8 * k)), vector);
	}
	if (k < n) {
		as_load(a, AS_RAX, as_at(P, (int32_t)(head + 8 * k)));
		as_store(a, as_at(M, (int32_t)(8 * k)), AS_RAX);
	}
}

static void compile(struct tw_demux_code *c, unsigned head, unsigned n, const struct tw_demux_sums *each)
{
	struct as a = {c->at};
	memcpy(c->data, each, 16);
	as_store16(&a, as_at(C, 0), TAG);
	copy_values(&a, head, n);
	as_alu_constant(&a, AS_ADD, C, sizeof(uint16_t), 1);
	as_alu_constant(&a, AS_ADD, P, (int32_t)(head + 8 * n), 1);
	if (n)
		as_alu_constant(&a, AS_ADD, M, (int32_t)(8 * n), 1);
	if (each->writes)
		as_alu_constant(&a, AS_ADD, WRITES, (int32_t)each->writes, 1);
	as_add_quadwords(&a, SUMS, c->data);
	emit_dispatch(&a, c);
	c->at = a.at;
	c->data += 16;
}

/* Under the lock. */
static int has_room(struct tw_demux_code *c)
{
	if (c->state == UNUSED && tw_code_area_init(&c->area, AREA_BYTES)) {
		c->state = FAILED;
	} else if (c->state == UNUSED) {
		emit_shared(c);
		atomic_store_explicit(&c->state, READY, memory_order_release);
	}
	return c->state == READY && c->area.written + DATA_AT - c->at > RECORD_CODE && c->area.written + AREA_BYTES - c->data >= 16;
}

void tw_demux_code_ran(struct tw_demux_code *c, uint32_t number, unsigned head, unsigned n, const struct tw_demux_sums *each)
{
	if (!tw_code_ran(&c->counts, number) || n > TW_DEMUX_CODE_VALUES)
		return;
	pthread_mutex_lock(&c->lock);
	if (has_room(c)) {
		const uint8_t *code = c->at;
		compile(c, head, n, each);
		tw_code_area_set(&c->area, number, code);
	}
	pthread_mutex_unlock(&c->lock);
}

void tw_demux_code_forget_one(struct tw_demux_code *c, uint32_t number)
{
	if (c->state == READY)
		tw_code_area_forget_one(&c->area, number);
}

void tw_demux_code_forget(struct tw_demux_code *c, uint32_t first)
{
	pthread_mutex_lock(&c->lock);
	if (c->state == READY)
		tw_code_area_forget(&c->area, first);
	pthread_mutex_unlock(&c->lock);
}

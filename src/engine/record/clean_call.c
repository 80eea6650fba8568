#include "engine/record/clean_call.h"
#include "engine/record/instrumentor.h"
#include "engine/record/buffer.h"
#include "engine/record/tally.h"
#include "engine/x86_64/glue.h"
#include "engine/x86_64/operand.h"
#include "engine/heap.h"
#include <linux/mman.h>

#define LOG_ENTRIES 32768u
#define XSAVE_BYTES 16384u
#define RUN_LISTED  16u /* iterations of a string instruction listed one by one; more are logged as a run */

/* ---- emitting ---- */

bool tw_logs(void)
{
	return tw_instr()->logs || (tw_recorder.verify && tw_instr()->records);
}

static bool is_reference(const struct memop *m)
{
	return !tw_op_is_update(&m->op);
}

/* The first instruction of what has one record with this one: in the tagged form each block has its own. */
static u32 first_of_record(const struct tw_recorded *f, u32 insn)
{
	return tw_tags_used() ? tw_piece_of(f, insn)->first_insn : 0;
}

/* Does log_before only work its address out? */
static bool is_plain(const struct tw_op *op)
{
	return op->kind != TW_OP_BIT && op->kind != TW_OP_LANES && op->kind != TW_OP_XSAVE && op->kind != TW_OP_REP;
}

static struct call_site *emit_call(struct emit *e, struct tw_recorded *f, u8 what, unsigned insn, const struct memop *op, u16 n_ops,
                                   u32 bound)
{
	struct call_site *s = tw_heap(sizeof *s);
	s->f = f;
	s->what = what;
	s->insn = (u16)insn;
	s->n_ops = n_ops;
	s->bound = bound;
	s->op = tw_heap(n_ops * sizeof *op);
	if (op)
		memcpy(s->op, op, n_ops * sizeof *op);
	s->plain = what == CALL_BEFORE;
	for (u16 k = 0; k < n_ops; k++) {
		s->vectors |= op[k].op.kind == TW_OP_LANES;
		s->plain = s->plain && is_plain(&op[k].op);
		s->op[k].op.insn = (u8)(op[k].op.insn - first_of_record(f, op[k].op.insn));
	}
	emit_mov_gs_imm(e, T_CC_INFO, (u32)(u64)s);
	emit_mov_gs_imm(e, T_CC_RET, (u32)(u64)(e->at + 12 + 5));
	emit_jmp(e, (const u8 *)tw_clean_call);
	return s;
}

/* Entries of the log one execution of the block can make, at most. */
static u32 log_bound(const struct block *b)
{
	u32 n = 0;
	for (u16 k = 0; k < b->n_ops; k++) {
		const struct tw_op *op = &b->op[k].op;
		n += op->kind == TW_OP_LANES ? op->count : op->kind == TW_OP_REP ? 2 * RUN_LISTED : 1;
	}
	return n;
}

void tw_call_entry(struct emit *e, const struct block *b, struct tw_recorded *f, u16 part, u32 record_bytes)
{
	u64 pc = b->part[part].pc;
	u32 event = (u32)(sizeof(struct tw_event_header) + sizeof(struct tw_refs) + log_bound(b) * sizeof(struct tw_logged_ref));
	u32 partial = (u32)(sizeof(struct tw_event_header) + sizeof(struct tw_partial));
	event += b->n_parts * (u32)(sizeof(struct tw_event_header) + sizeof(struct tw_refs) + 4); /* tagged form: one for each */
	struct call_site *s = emit_call(e, f, CALL_ENTRY, 0, NULL, 0, part ? 0 : record_bytes + event + partial + 24);
	s->pc = pc;
}

/* References of instruction i: a contiguous part of its memops, SETs come last. */
static u16 count_references(const struct block *b, unsigned i)
{
	u16 n = 0;
	while (n < b->insn[i].n_ops && is_reference(&b->op[b->insn[i].first_op + n]))
		n++;
	return n;
}

void tw_call_before(struct emit *e, const struct block *b, struct tw_recorded *f, unsigned i)
{
	u16 n = count_references(b, i);
	if (n && b->insn[i].kind != INSN_BAD)
		emit_call(e, f, CALL_BEFORE, i, &b->op[b->insn[i].first_op], n, 0);
}

void tw_call_after(struct emit *e, const struct block *b, struct tw_recorded *f, unsigned i)
{
	if (count_references(b, i) && b->op[b->insn[i].first_op].op.kind == TW_OP_REP)
		emit_call(e, f, CALL_AFTER, i, &b->op[b->insn[i].first_op], 1, 0);
}

void tw_call_close(struct emit *e, struct tw_recorded *f)
{
	emit_call(e, f, CALL_CLOSE, 0, NULL, 0, 0);
}

void tw_call_tell(struct emit *e, struct tw_recorded *f, u8 path)
{
	emit_call(e, f, CALL_TELL, path, NULL, 0, 0);
}

/* ---- called ---- */

static void log_ref(struct thread *t, u64 addr, u32 size, u8 type, u8 insn, u16 count)
{
	if (t->record->log && t->record->n_log < LOG_ENTRIES)
		t->record->log[t->record->n_log++] = (struct tw_logged_ref){addr, size, type, insn, count};
}

/* Bytes of a vector register, from the xsave area. */
static void vector_bytes(const struct thread *t, u8 kind, u8 reg, u8 *out)
{
	const struct tw_xstate *x = &tw_engine.control->xstate;
	const u8 *a = t->record->xsave;
	if (kind == VEC_K) {
		memcpy(out, a + x->component[5].offset + 8u * reg, 8);
	} else if (kind == VEC_MMX) {
		memcpy(out, a + 32 + 16u * reg, 8);
	} else if (reg >= 16) {
		memcpy(out, a + x->component[7].offset + 64u * (reg - 16u), 64);
	} else {
		memcpy(out, a + 160 + 16u * reg, 16);
		memcpy(out + 16, a + x->component[2].offset + 16u * reg, 16);
		if (x->component[6].size)
			memcpy(out + 32, a + x->component[6].offset + 32u * reg, 32);
	}
}

static i64 lane_index(const u8 *v, u32 lane, u8 width)
{
	i32 narrow;
	i64 wide;
	if (width == 4) {
		memcpy(&narrow, v + 4 * lane, 4);
		return narrow;
	}
	memcpy(&wide, v + 8 * lane, 8);
	return wide;
}

static bool lane_active(const u8 *mask, u32 lane, u8 width)
{
	if (width)
		return mask[(lane + 1) * width - 1] & 0x80;
	return mask[lane / 8] >> (lane % 8) & 1;
}

static void log_lanes(struct thread *t, const u64 *regs, const struct memop *m)
{
	const struct tw_op *op = &m->op;
	u8 index[64], mask[64];
	u64 ea = tw_effective_address(t, regs, op), next = ea;
	u32 n_active = 0;
	vector_bytes(t, m->mask_kind, m->mask_reg, mask);
	if (op->index_width)
		vector_bytes(t, m->index_kind, m->index_reg, index);
	for (u32 k = 0; k < op->count; k++) {
		if (!lane_active(mask, k, op->mask_width))
			continue;
		n_active++;
		if (op->flags & TW_OPF_ANY)
			continue;
		u64 a = ea + (u64)k * op->size;
		if (op->index_width) {
			a = ea - tw_segment_base(t, op->seg) + ((u64)lane_index(index, k, op->index_width) << op->scale);
			a = (op->flags & TW_OPF_ADDR32 ? (u32)a : a) + tw_segment_base(t, op->seg);
		} else if (op->flags & TW_OPF_PACKED) {
			a = next;
			next += op->size;
		}
		log_ref(t, a, op->size, op->type, op->insn, 1);
	}
	if ((op->flags & TW_OPF_ANY) && n_active)
		log_ref(t, ea, op->size, op->type, op->insn, 1);
}

static void log_bit(struct thread *t, const u64 *regs, const struct tw_op *op)
{
	i64 offset = (i64)regs[op->count];
	if (op->size == 4)
		offset = (i32)offset;
	else if (op->size == 2)
		offset = (int16_t)offset;
	const i64 unit = offset >> __builtin_ctz(8u * op->size);
	log_ref(t, tw_effective_address(t, regs, op) + (u64)(unit * (i64)op->size), op->size, op->type, op->insn, 1);
}

static void log_xsave(struct thread *t, const u64 *regs, const struct memop *m)
{
	const struct tw_xstate *x = &tw_engine.control->xstate;
	u64 a = tw_effective_address(t, regs, &m->op), xcomp = 0;
	int compact = m->op.flags & TW_OPF_COMPACT;
	if (m->xcomp && tw_copy(&xcomp, (void *)(a + 520), 8))
		compact = xcomp >> 63 != 0;
	log_ref(t, a, tw_xsave_size(x, x->xcr0 & (u32)regs[TW_RAX], compact), m->op.type, m->op.insn, 1);
}

/* Before a repeated string instruction: where its pointers and counter stand. */
static void rep_begin(struct thread *t, const u64 *regs, const struct tw_op *op)
{
	bool is32 = op->flags & TW_OPF_ADDR32;
	t->record->rep.op = op;
	t->record->rep.count = is32 ? (u32)regs[TW_RCX] : regs[TW_RCX];
	t->record->rep.first = is32 ? (u32)regs[op->base] : regs[op->base];
	t->record->rep.second = op->index == TW_NOREG ? 0 : is32 ? (u32)regs[op->index] : regs[op->index];
}

/* After it: what it did, by how far the counter went and the direction flag. */
static void rep_end(struct thread *t, const u64 *regs, const struct tw_op *op)
{
	u64 now = op->flags & TW_OPF_ADDR32 ? (u32)regs[TW_RCX] : regs[TW_RCX];
	u64 n = t->record->rep.count - now;
	u64 step = t->flags & 0x400 ? -(u64)op->size : op->size;
	u64 first = t->record->rep.first + tw_segment_base(t, op->seg);
	t->record->rep.op = NULL;
	if (n > RUN_LISTED) { /* two entries a run: the first reference, then the number of iterations and the step */
		log_ref(t, first, op->size, op->type, op->insn, TW_LOGGED_RUN);
		log_ref(t, n, (u32)step, op->type, op->insn, TW_LOGGED_RUN);
		if (op->flags & TW_OPF_SECOND) {
			log_ref(t, t->record->rep.second, op->size, (u8)op->count, op->insn, TW_LOGGED_RUN);
			log_ref(t, n, (u32)step, (u8)op->count, op->insn, TW_LOGGED_RUN);
		}
		return;
	}
	for (u64 k = 0; k < n; k++) {
		log_ref(t, first + k * step, op->size, op->type, op->insn, 1);
		if (op->flags & TW_OPF_SECOND)
			log_ref(t, t->record->rep.second + k * step, op->size, (u8)op->count, op->insn, 1);
	}
}

static void log_before(struct thread *t, const u64 *regs, const struct memop *m)
{
	switch (m->op.kind) {
	case TW_OP_BIT:
		log_bit(t, regs, &m->op);
		return;
	case TW_OP_LANES:
		log_lanes(t, regs, m);
		return;
	case TW_OP_XSAVE:
		log_xsave(t, regs, m);
		return;
	case TW_OP_REP:
		rep_begin(t, regs, &m->op);
		return;
	default:
		log_ref(t, tw_effective_address(t, regs, &m->op), m->op.size, m->op.type, m->op.insn, 1);
	}
}

/* The same where nothing but addresses is wanted, from the registers where they stand. */
static void log_plain(struct thread *t, const struct call_site *s)
{
	for (u16 k = 0; k < s->n_ops; k++) {
		const struct tw_op *op = &s->op[k].op;
		u64 base = op->base != TW_NOREG ? tw_register_in(t, &s->places, op->base) : 0;
		u64 index = op->index != TW_NOREG ? tw_register_in(t, &s->places, op->index) : 0;
		log_ref(t, tw_operand_address(t, op, base, index), op->size, op->type, op->insn, 1);
	}
}

void tw_call_take_back(struct thread *t, u32 insn)
{
	if (t->record->log_open && t->record->rep.op &&
	    t->record->rep.op->insn < insn) /* it has run, and what came before its call is what stops the record */
		rep_end(t, t->regs, t->record->rep.op);
	t->record->rep.op = NULL;
	while (t->record->log_open && t->record->n_log && t->record->log[t->record->n_log - 1].insn >= insn)
		t->record->n_log--;
}

/* Bytes of the REFS event of what is logged. */
static u32 logged_bytes(const struct thread *t)
{
	return (u32)(sizeof(struct tw_event_header) + sizeof(struct tw_refs) + t->record->n_log * sizeof *t->record->log);
}

void tw_call_take_back_event(struct thread *t)
{
	u32 escape = tw_tags_used() ? 2 : 0;
	t->bufptr -= logged_bytes(t) + escape;
	memset((void *)t->bufptr, 0, logged_bytes(t) + escape);
	t->record->log_open = true;
}

void tw_call_flush(struct thread *t)
{
	struct tw_refs r = {t->record->log_pc, t->record->n_log, 0};
	if (!t->record->log_open)
		return;
	t->record->log_open = false;
	tw_buffer_event(t, TW_EVENT_REFS, &r, sizeof r, t->record->log, t->record->n_log * (u32)sizeof *t->record->log);
}

/* Memory for the thread, for as long as the process runs; NULL, and the recording has failed: there is none. */
static void *own_memory(u64 bytes)
{
	const i64 at = tw_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!tw_failed(at))
		return (void *)at;
	tw_engine_fail(TW_FAILURE_CHANNEL, "no memory to log references in");
	return NULL;
}

/*
 * A fragment begins; its tag is just stored at the buffer pointer. Everything it can write must fit in this buffer, REFS event included: else the tag
 * is taken back and stored again at the start of the next.
 */
static void begin(struct thread *t, const struct call_site *s)
{
	t->record->record_at = t->bufptr;
	u64 raw[TW_NREGS], regs[TW_NREGS];
	t->record->log_pc = s->pc;
	t->record->n_log = 0;
	t->record->rep.op = NULL;
	t->record->log_open = true;
	if (!t->record->log)
		t->record->log = own_memory(LOG_ENTRIES * sizeof *t->record->log);
	if (tw_buffer_has_room(t, s->bound))
		return;
	memset((void *)t->record->record_at, 0, s->f->head);
	tw_state_registers(t, &s->f->map, t->cc_ret, true, regs);
	memcpy(raw, t->regs, sizeof raw);
	memcpy(t->regs, regs, sizeof raw); /* the keyframe is of the application's */
	t->upper = s->f->upper_in;
	tw_buffer_switch(t);
	memcpy(t->regs, raw, sizeof raw);
	tw_write_number(t, s->f);
	t->record->record_at = t->bufptr;
}

/* False: there is no memory for them. */
static bool save_vectors(struct thread *t)
{
	const u64 all = tw_engine.xcr0;
	if (!t->record->xsave)
		t->record->xsave = own_memory(XSAVE_BYTES);
	if (t->record->xsave)
		__asm__ volatile("xsave64 (%0)" : : "r"(t->record->xsave), "a"((u32)all), "d"((u32)(all >> 32)) : "memory");
	return t->record->xsave;
}

/* What wants all registers. */
static void log_all(struct thread *t, const struct call_site *s)
{
	u64 regs[TW_NREGS];
	tw_state_registers(t, &s->f->map, t->cc_ret, true, regs);
	if (s->what == CALL_AFTER) {
		rep_end(t, regs, &s->op[0].op);
		return;
	}
	if (s->vectors && !save_vectors(t))
		return;
	for (u16 k = 0; k < s->n_ops; k++)
		log_before(t, regs, &s->op[k]);
}

static void perform(struct thread *t, const struct call_site *s)
{
	if (s->plain)
		log_plain(t, s);
	else if (s->what == CALL_ENTRY)
		begin(t, s);
	else if (s->what == CALL_CLOSE)
		tw_call_flush(t);
	else if (s->what == CALL_TELL)
		tw_tally_tell(t, s->f, (u8)s->insn);
	else
		log_all(t, s);
}

/* The state map has what it has for this place when the fragment is complete: it is looked up by the first call. Two threads find the same. */
static void find_places(struct thread *t, struct call_site *s)
{
	s->buf = tw_state_places(&s->f->map, t->cc_ret, true, &s->places);
	__atomic_store_n(&s->found, true, __ATOMIC_RELEASE);
}

u64 tw_call_made(struct thread *t)
{
	struct call_site *s = (struct call_site *)t->cc_info;
	if (!__atomic_load_n(&s->found, __ATOMIC_ACQUIRE))
		find_places(t, s);
	t->bufptr = t->regs[s->buf];
	perform(t, s);
	t->regs[s->buf] = t->bufptr;
	return t->cc_ret;
}

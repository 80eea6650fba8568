#include "engine/record/log.h"
#include "engine/record/buffer.h"
#include "engine/record/instrumentor.h"
#include "engine/x86_64/operand.h"
#include <linux/mman.h>

#define LOG_ENTRIES 32768u
#define XSAVE_BYTES 16384u

static void put(struct thread *t, u64 addr, u32 size, u8 type, u8 insn, u16 count)
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
		put(t, a, op->size, op->type, op->insn, 1);
	}
	if ((op->flags & TW_OPF_ANY) && n_active)
		put(t, ea, op->size, op->type, op->insn, 1);
}

static void log_bit(struct thread *t, const u64 *regs, const struct tw_op *op)
{
	i64 offset = (i64)regs[op->count];
	if (op->size == 4)
		offset = (i32)offset;
	else if (op->size == 2)
		offset = (int16_t)offset;
	const i64 unit = offset >> __builtin_ctz(8u * op->size);
	put(t, tw_effective_address(t, regs, op) + (u64)(unit * (i64)op->size), op->size, op->type, op->insn, 1);
}

static void log_xsave(struct thread *t, const u64 *regs, const struct memop *m)
{
	const struct tw_xstate *x = &tw_engine.control->xstate;
	u64 a = tw_effective_address(t, regs, &m->op), xcomp = 0;
	int compact = m->op.flags & TW_OPF_COMPACT;
	if (m->xcomp && tw_copy(&xcomp, (void *)(a + 520), 8))
		compact = xcomp >> 63 != 0;
	put(t, a, tw_xsave_size(x, x->xcr0 & (u32)regs[TW_RAX], compact), m->op.type, m->op.insn, 1);
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

void tw_log_rep_end(struct thread *t, const u64 *regs, const struct tw_op *op)
{
	u64 now = op->flags & TW_OPF_ADDR32 ? (u32)regs[TW_RCX] : regs[TW_RCX];
	u64 n = t->record->rep.count - now;
	u64 step = t->flags & 0x400 ? -(u64)op->size : op->size;
	u64 first = t->record->rep.first + tw_segment_base(t, op->seg);
	t->record->rep.op = NULL;
	if (n > TW_LOG_LISTED) { /* two entries per run: the first reference, then the number of iterations and the step */
		put(t, first, op->size, op->type, op->insn, TW_LOGGED_RUN);
		put(t, n, (u32)step, op->type, op->insn, TW_LOGGED_RUN);
		if (op->flags & TW_OPF_SECOND) {
			put(t, t->record->rep.second, op->size, (u8)op->count, op->insn, TW_LOGGED_RUN);
			put(t, n, (u32)step, (u8)op->count, op->insn, TW_LOGGED_RUN);
		}
		return;
	}
	for (u64 k = 0; k < n; k++) {
		put(t, first + k * step, op->size, op->type, op->insn, 1);
		if (op->flags & TW_OPF_SECOND)
			put(t, t->record->rep.second + k * step, op->size, (u8)op->count, op->insn, 1);
	}
}

void tw_log_reference(struct thread *t, const u64 *regs, const struct memop *m)
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
		put(t, tw_effective_address(t, regs, &m->op), m->op.size, m->op.type, m->op.insn, 1);
	}
}

void tw_log_take_back(struct thread *t, u32 insn)
{
	if (t->record->log_open && t->record->rep.op &&
	    t->record->rep.op->insn < insn) /* it has run, but the record stops before the call that would log its end */
		tw_log_rep_end(t, t->regs, t->record->rep.op);
	t->record->rep.op = NULL;
	while (t->record->log_open && t->record->n_log && t->record->log[t->record->n_log - 1].insn >= insn)
		t->record->n_log--;
}

/* Bytes of the REFS event of what is logged. */
static u32 logged_bytes(const struct thread *t)
{
	return (u32)(sizeof(struct tw_event_header) + sizeof(struct tw_refs) + t->record->n_log * sizeof *t->record->log);
}

void tw_log_take_back_event(struct thread *t)
{
	u32 escape = tw_tags_used() ? 2 : 0;
	t->bufptr -= logged_bytes(t) + escape;
	memset((void *)t->bufptr, 0, logged_bytes(t) + escape);
	t->record->log_open = true;
}

void tw_log_flush(struct thread *t)
{
	struct tw_refs r = {t->record->log_pc, t->record->n_log, 0};
	if (!t->record->log_open)
		return;
	t->record->log_open = false;
	tw_buffer_event(t, TW_EVENT_REFS, &r, sizeof r, t->record->log, t->record->n_log * (u32)sizeof *t->record->log);
}

/* Memory for the thread, for the process's lifetime. NULL: none; the recording has failed. */
static void *own_memory(u64 bytes)
{
	const i64 at = tw_mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!tw_failed(at))
		return (void *)at;
	tw_engine_fail(TW_FAILURE_CHANNEL, "no memory to log references in");
	return NULL;
}

bool tw_log_save_vectors(struct thread *t)
{
	const u64 all = tw_engine.xcr0;
	if (!t->record->xsave)
		t->record->xsave = own_memory(XSAVE_BYTES);
	if (t->record->xsave)
		__asm__ volatile("xsave64 (%0)" : : "r"(t->record->xsave), "a"((u32)all), "d"((u32)(all >> 32)) : "memory");
	return t->record->xsave;
}

void tw_log_begin(struct thread *t, u64 pc)
{
	t->record->log_pc = pc;
	t->record->n_log = 0;
	t->record->rep.op = NULL;
	t->record->log_open = true;
	if (!t->record->log)
		t->record->log = own_memory(LOG_ENTRIES * sizeof *t->record->log);
}

void tw_log_address(struct thread *t, const struct tw_op *op, u64 address)
{
	put(t, address, op->size, op->type, op->insn, 1);
}

#include "engine/record/stamp.h"
#include "engine/record/buffer.h"
#include "engine/record/instrumentor.h"

#define HEADER(field)  ((i32)offsetof(struct tw_event_header, field))
#define PAYLOAD(field) ((i32)(sizeof(struct tw_event_header) + offsetof(struct tw_stamp, field)))

static const u8 rdtsc[] = {0x0f, 0x31};

/*
 * Where the event begins, relative to the buffer pointer. In the tagged form a 0 precedes it (channel/expand.h), the
 * same value as where nothing has been written yet.
 */
static i32 event_at(void)
{
	return tw_tags_used() ? 2 : 0;
}

/* Bytes of it in the buffer. */
static u32 stamp_bytes(void)
{
	return (u32)event_at() + sizeof(struct tw_event_header) + sizeof(struct tw_stamp);
}

bool tw_stamp_wanted(const struct insn *i)
{
	return i->order && tw_instr()->records && (tw_engine.control->flags & TW_FLAG_ORDER);
}

/* Reads the counter into the payload through rax and rdx. Each store has 8 bytes; the excess of the second is overwritten later. */
static void emit_time(struct emit *e, u8 insn, bool after, u32 flags)
{
	const i32 at = event_at() + PAYLOAD(tsc);
	emit_mov_gs_reg(e, T_SLOT_S, TW_RAX);
	emit_mov_gs_reg(e, T_SLOT_S2, TW_RDX);
	e->now.spill = TW_RAX;
	e->now.spill2 = TW_RDX;
	emit_state(e, insn, flags | STATE_SPILL | STATE_SPILL2);
	if (after)
		emit_bytes(e, "\x0f\xae\xe8", 3); /* lfence */
	emit_bytes(e, rdtsc, sizeof rdtsc);
	emit_mov_mem_reg(e, BUF_REG, at, TW_RAX);
	emit_mov_mem_reg(e, BUF_REG, at + 4, TW_RDX);
	emit_mov_reg_gs(e, TW_RAX, T_SLOT_S);
	emit_mov_reg_gs(e, TW_RDX, T_SLOT_S2);
	emit_state(e, insn, flags);
}

void tw_stamp_emit(struct emit *e, const struct insn *i, bool after, u32 flags)
{
	const u8 insn = after;
	const i32 at = event_at();
	emit_state(e, insn, flags);
	emit_time(e, insn, after, flags);
	emit_mov_mem32_imm(e, BUF_REG, at + PAYLOAD(pc), (u32)i->pc);
	emit_mov_mem32_imm(e, BUF_REG, at + PAYLOAD(pc) + 4, (u32)(i->pc >> 32));
	emit_mov_mem32_imm(e, BUF_REG, at + PAYLOAD(kind), i->order);
	emit_mov_mem32_imm(e, BUF_REG, at + PAYLOAD(after), after);
	emit_mov_mem16_imm(e, BUF_REG, at + HEADER(type), TW_EVENT_STAMP);
	emit_mov_mem32_imm(e, BUF_REG, at + HEADER(bytes), sizeof(struct tw_stamp));
	emit_mov_mem16_imm(e, BUF_REG, at, TW_TAG_EVENT); /* last: a reader that finds it finds the whole event */
	emit_lea(e, BUF_REG, BUF_REG, (i32)stamp_bytes());
	emit_state(e, insn, flags | STATE_STAMPED);
}

void tw_stamp_left(struct thread *t, const struct tw_recorded *f, const struct state_entry *s)
{
	const bool stamped = s->flags & STATE_STAMPED;
	if (!f->order)
		return;
	if ((s->flags & STATE_NOT_OPEN) && stamped)
		t->bufptr -= stamp_bytes();
	if (s->insn && !stamped) { /* the fragment's only instruction has run */
		const struct tw_stamp e = {tw_buffer_time(t), f->pc, f->order, 1};
		tw_buffer_event(t, TW_EVENT_STAMP, &e, sizeof e, NULL, 0);
	}
}

bool tw_stamp_fault(const struct tw_recorded *f, u64 host)
{
	const struct state_entry s = tw_state_at(&f->map, host);
	return f->order && (s.flags & STATE_SPILL2) && (s.flags & STATE_CLOSED) && !memcmp((const void *)host, rdtsc, sizeof rdtsc);
}

#include "engine/signal/interrupt.h"
#include "engine/record/bits.h"
#include "engine/record/buffer.h"
#include "engine/record/tally.h"
#include "engine/record/stamp.h"
#include "engine/code/cache.h"
#include "engine/record/instrumentor.h"
#include "engine/record/partial.h"
#include "engine/record/log.h"

#define UPPER_UNKNOWN 0xffffu /* in a lookup or a bridge: the next fragment writes its own */

static u64 insn_pc(const struct fragment *f, u32 insn)
{
	if (!f->rec.piece)
		return f->rec.pc;
	const struct piece *p = tw_piece_of(&f->rec, insn);
	u64 pc = p->pc + p->lead;
	const u8 *lengths = tw_state_lengths(&f->rec.map);
	for (u32 k = p->first_insn; k < insn && k < f->rec.n_insns; k++)
		pc += lengths[k];
	return pc;
}

/* The application's pc in this state; `rcx`: the machine's. */
u64 tw_state_pc(const struct fragment *f, const struct state_entry *s, u64 rcx, u64 rsp)
{
	u64 pc = 0;
	if (s->flags & STATE_PC_STACK) {
		tw_copy(&pc, (void *)rsp, 8);
		return pc;
	}
	if (s->flags & STATE_PC_RCX)
		return rcx;
	if (s->flags & STATE_PC_RCX_PLUS)
		return rcx + f->rec.pc - (s->flags & STATE_OFF_BY_ONE ? 1 : 0);
	if ((s->flags & STATE_DONE) && s->path)
		return f->rec.side[s->path - 1].pc;
	if (s->flags & STATE_DONE)
		return s->flags & STATE_PC_FALL ? f->pc_fall : f->pc_target;
	return insn_pc(f, s->insn);
}

/* Tagged form: a block's record is complete. Some statuses may not be stored yet; a keyframe sets them all. */
static void end_block(struct thread *t, u32 bytes)
{
	t->bufptr += bytes;
	tw_log_flush(t);
	tw_buffer_keyframe(t);
}

/*
 * Tagged form: the buffer pointer has moved with each conditionally stored value. So the start of the record is
 * unknown; it is not needed. Each block of a superblock has its own record.
 */
static void interrupt_tagged(struct thread *t, const struct fragment *f, const struct state_entry *s)
{
	if (f->kind != FRAGMENT_CODE || ((s->flags & STATE_NOT_OPEN) && !s->insn))
		return;
	const bool behind = s->flags & (STATE_NOT_OPEN | STATE_DONE); /* the instruction before was a block's last */
	const struct piece *p = tw_piece_of(&f->rec, behind ? s->insn - 1u : s->insn);
	const u16 bytes = s->flags & STATE_CLOSED ? 0 : p->record_bytes;
	if (behind) {
		end_block(t, bytes);
		return;
	}
	if (tw_logs() && (s->flags & STATE_CLOSED) && !t->record->log_open)
		tw_log_take_back_event(t);
	tw_log_take_back(t, s->insn - p->first_insn);
	tw_partial_stop(t, t->bufptr + (u64)p->values, t->bufptr + bytes, &f->rec, s->insn, (s->flags & STATE_IN_REP) != 0);
}

/* Plain form: the record has been begun. */
static void interrupt_plain(struct thread *t, const struct fragment *f, const struct state_entry *s)
{
	u64 start = t->bufptr - (s->flags & STATE_CLOSED ? tw_path_bytes(&f->rec, s->path) : 0);
	if (tw_logs() && (s->flags & STATE_CLOSED) && !(s->flags & STATE_DONE)) {
		start = t->record->record_at; /* its REFS event has been written behind it: take that back */
		t->record->log_open = true;
	}
	if (t->record->tallied)
		tw_tally_interrupted(t, &f->rec, s, start);
	if (s->flags & STATE_DONE) {
		t->bufptr = start + tw_path_bytes(&f->rec, s->path);
	} else {
		tw_log_take_back(t, s->insn);
		tw_partial_put(t, start, &f->rec, s->insn, (s->flags & STATE_IN_REP) != 0);
	}
	tw_log_flush(t);
}

/*
 * The thread is at `host` in the cache, with the machine's registers in t->regs: restores the application's state and
 * closes the record.
 */
void tw_interrupt(struct thread *t, u64 host)
{
	const struct fragment *f = tw_fragment_at(host);
	const struct state_entry state = tw_state_at(&f->rec.map, host), *const s = &state;
	u64 regs[TW_NREGS];
	u8 buf = tw_state_registers(t, &f->rec.map, host, tw_instr()->records, regs);
	t->pc = tw_state_pc(f, s, t->regs[TW_RCX], t->regs[TW_RSP]);
	if (tw_instr()->records)
		t->bufptr = t->regs[buf];
	memcpy(t->regs, regs, sizeof regs);
	bool plain = tw_form_now() == TW_FORM_PLAIN;
	if (tw_bits_used()) {
		tw_bits_interrupted(t, &f->rec, s, f->kind != FRAGMENT_CODE);
		return;
	}
	if (plain)
		t->upper = f->kind == FRAGMENT_CODE ? f->rec.upper_out : UPPER_UNKNOWN;
	if (tw_instr()->records && !plain)
		interrupt_tagged(t, f, s);
	else if (tw_instr()->records && !(s->flags & STATE_NOT_OPEN))
		interrupt_plain(t, f, s);
	tw_stamp_left(t, &f->rec, s);
}

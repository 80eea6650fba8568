#include "engine/interrupt.h"
#include "engine/bits.h"
#include "engine/buffer.h"
#include "engine/tally.h"
#include "engine/x86_64/glue.h"
#include "engine/x86_64/stamp.h"
#include "engine/x86_64/translate.h"
#include "instrument/instrumentor.h"

#define UPPER_UNKNOWN 0xffffu /* in a landing or a bridge: the next fragment writes its own */

static u64 insn_pc(const struct fragment *f, u32 insn)
{
	if (!f->piece)
		return f->pc;
	const struct piece *p = tw_piece_of(f, insn);
	u64 pc = p->pc;
	for (u32 k = p->first_insn; k < insn && k < f->n_insns; k++)
		pc += f->insn_bytes[k];
	return pc;
}

#define PLACE(member) ((u16)offsetof(struct thread, member))

/* Where the application's registers are in this state. */
static u8 find_registers(const struct fragment *f, const struct state_entry *s, struct register_places *p)
{
	u8 buf = s->flags & STATE_R11_LIVE ? f->t_reg : BUF_REG;
	for (u16 r = 0; r < TW_NREGS; r++)
		p->at[r] = PLACE(regs) + 8 * r;
	if (tw_engine.instr->records && buf == BUF_REG)
		p->at[BUF_REG] = PLACE(app_r11);
	if (s->flags & STATE_T_SLOT)
		p->at[f->t_reg] = PLACE(slot_t);
	if (s->flags & STATE_SPILL)
		p->at[s->spill] = PLACE(slot_s);
	if (s->flags & STATE_SPILL2)
		p->at[s->spill2] = PLACE(slot_s2);
	if (s->flags & STATE_C_SLOT)
		p->at[f->c_reg] = PLACE(slot_c);
	if (s->flags & STATE_RCX_SLOT)
		p->at[TW_RCX] = PLACE(slot_rcx);
	if (s->flags & STATE_R10_SLOT)
		p->at[TW_R10] = PLACE(slot_r10);
	return buf;
}

u8 tw_state_places(const struct fragment *f, u64 host, struct register_places *p)
{
	return find_registers(f, tw_fragment_state(f, host), p);
}

u8 tw_state_registers(const struct thread *t, const struct fragment *f, u64 host, u64 *regs)
{
	const struct state_entry *s = tw_fragment_state(f, host);
	struct register_places p;
	u8 buf = find_registers(f, s, &p);
	for (u8 r = 0; r < TW_NREGS; r++)
		regs[r] = tw_register_in(t, &p, r);
	if (s->flags & STATE_PC_STACK)
		regs[TW_RSP] += 8;
	return buf;
}

/* The application's pc in this state; `rcx` as the machine has it. */
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
		return rcx + f->pc - (s->flags & STATE_OFF_BY_ONE ? 1 : 0);
	if ((s->flags & STATE_DONE) && s->path)
		return f->side[s->path - 1].pc;
	if (s->flags & STATE_DONE)
		return s->flags & STATE_PC_FALL ? f->pc_fall : f->pc_target;
	return insn_pc(f, s->insn);
}

/* Tagged form: a block's record is complete. Statuses may not have been stored yet: a keyframe sets them all. */
static void end_block(struct thread *t, u32 bytes)
{
	t->bufptr += bytes;
	tw_call_flush(t);
	tw_buffer_keyframe(t);
}

/*
 * Tagged form: the buffer pointer has moved with each value that was stored on condition, so where the record begins is not known, and need not be. Each
 * block of a superblock has a record of its own.
 */
static void interrupt_tagged(struct thread *t, const struct fragment *f, const struct state_entry *s)
{
	if (f->kind != FRAGMENT_CODE || ((s->flags & STATE_NOT_OPEN) && !s->insn))
		return;
	const bool behind = s->flags & (STATE_NOT_OPEN | STATE_DONE); /* the instruction before was a block's last */
	const struct piece *p = tw_piece_of(f, behind ? s->insn - 1u : s->insn);
	const u16 bytes = s->flags & STATE_CLOSED ? 0 : p->record_bytes;
	if (behind) {
		end_block(t, bytes);
		return;
	}
	if (tw_logs() && (s->flags & STATE_CLOSED) && !t->log_open)
		tw_call_take_back_event(t);
	tw_call_take_back(t, s->insn - p->first_insn);
	tw_buffer_stop(t, t->bufptr + (u64)p->values, t->bufptr + bytes, f, s->insn, (s->flags & STATE_IN_REP) != 0);
}

/* Plain form: the record has been begun. */
static void interrupt_plain(struct thread *t, const struct fragment *f, const struct state_entry *s)
{
	u64 start = t->bufptr - (s->flags & STATE_CLOSED ? tw_path_bytes(f, s->path) : 0);
	if (tw_logs() && (s->flags & STATE_CLOSED) && !(s->flags & STATE_DONE)) {
		start = t->record_at; /* its REFS event has been written behind it: take that back */
		t->log_open = true;
	}
	if (t->tallied)
		tw_tally_interrupted(t, f, s, start);
	if (s->flags & STATE_DONE) {
		t->bufptr = start + tw_path_bytes(f, s->path);
	} else {
		tw_call_take_back(t, s->insn);
		tw_buffer_partial(t, start, f, s->insn, (s->flags & STATE_IN_REP) != 0);
	}
	tw_call_flush(t);
}

/*
 * The thread stands at `host` in the cache, with the machine's registers in t->regs: makes the state the application's and closes the record.
 */
void tw_interrupt(struct thread *t, u64 host)
{
	const struct fragment *f = tw_fragment_at(host);
	const struct state_entry *s = tw_fragment_state(f, host);
	u64 regs[TW_NREGS];
	u8 buf = tw_state_registers(t, f, host, regs);
	t->pc = tw_state_pc(f, s, t->regs[TW_RCX], t->regs[TW_RSP]);
	if (tw_engine.instr->records)
		t->bufptr = t->regs[buf];
	memcpy(t->regs, regs, sizeof regs);
	bool plain = tw_form_now() == TW_FORM_PLAIN;
	if (tw_bits_used()) {
		tw_bits_interrupted(t, f, s);
		return;
	}
	if (plain)
		t->upper = f->kind == FRAGMENT_CODE ? f->upper_out : UPPER_UNKNOWN;
	if (tw_engine.instr->records && !plain)
		interrupt_tagged(t, f, s);
	else if (tw_engine.instr->records && !(s->flags & STATE_NOT_OPEN))
		interrupt_plain(t, f, s);
	tw_stamp_left(t, f, s);
}

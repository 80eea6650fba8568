#include "engine/tally.h"
#include "engine/buffer.h"
#include "engine/x86_64/translate.h"
#include "instrument/instrumentor.h"
#include <asm/unistd.h>
#include <linux/mman.h>

/* ---- the window ---- */

static u64 *window(const struct thread *t)
{
	return (u64 *)((u8 *)t + T_WINDOW);
}

/* The memory of the slot's window, once more: what mremap makes of a shared mapping that it is told has no length. */
bool tw_tally_open(struct thread *t)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, prot = PROT_READ | PROT_WRITE;
	i64 failed = 0;
	if (t->recording)
		failed = tw_sys6(__NR_mremap, (u64)tw_channel_tally(tw_engine.channel, t->slot), 0, TW_TALLY_BYTES,
		                 MREMAP_MAYMOVE | MREMAP_FIXED, (u64)window(t), 0);
	if (t->recording && !tw_failed(failed))
		failed = tw_sys(__NR_mprotect, window(t), TW_TALLY_BYTES, prot);
	if (!t->recording || tw_failed(failed))
		tw_mmap((u64)window(t), TW_TALLY_BYTES, prot, flags, -1, 0);
	return !tw_failed(failed);
}

/* ---- emitting ---- */

/*
 * A register to borrow, which takes a few cycles until it has its value again: one that has had it for long if there is such, of those that
 * functions keep. None in which the state, or the buffer pointer, is.
 */
static u8 choose_register(const struct emit *e, u32 flags)
{
	static const u8 choice[] = {TW_RBX, TW_RBP, TW_R12, TW_R13, TW_R14, TW_R15, TW_RDI, TW_RSI, TW_RDX, TW_RCX, TW_R8, TW_R9, TW_RAX};
	u32 never = 1u << e->buf | (flags & STATE_RCX_SLOT ? 1u << TW_RCX : 0);
	if (flags & STATE_C_SLOT)
		never |= 1u << e->f->c_reg;
	for (unsigned k = 0; k < sizeof choice; k++)
		if (!((never | e->defs) >> choice[k] & 1))
			return choice[k];
	return never >> TW_RBX & 1 ? TW_RBP : TW_RBX;
}

/* Entry of the window += reg, or 1, by way of `sum`. */
static void emit_add(struct emit *e, u8 sum, u32 entry, u8 reg)
{
	const u32 at = T_WINDOW + entry * (u32)sizeof(u64);
	emit_mov_reg_gs(e, sum, at);
	if (reg == TW_NOREG)
		emit_lea(e, sum, sum, 1);
	else
		emit_lea_sum(e, sum, reg);
	emit_mov_gs_reg(e, at, sum);
}

static void borrow(struct emit *e, u8 reg, u8 insn, u32 flags)
{
	emit_state(e, insn, flags);
	emit_mov_gs_reg(e, T_SLOT_S, reg);
	e->now.spill = reg & 15;
	emit_state(e, insn, flags | STATE_SPILL);
}

static void give_back(struct emit *e, u8 reg, u8 insn, u32 flags)
{
	emit_state(e, insn, flags | STATE_SPILL);
	emit_mov_reg_gs(e, reg, T_SLOT_S);
	emit_state(e, insn, flags);
}

#define NOWHERE 0xffff

/* Can the instruction run with the register it defines in a slot? */
static u8 defined(const struct emit *e, const struct insn *i)
{
	const u8 reg = i->kind == INSN_PLAIN && !i->uses_gs && (!i->disp_at || i->lea_reg != TW_NOREG) ? tw_decode_defines(i) : TW_NOREG;
	return reg == TW_RSP || reg == e->buf || reg == BUF_REG ? TW_NOREG : reg;
}

struct tw_tally_place tw_tally_place(const struct emit *e, const struct block *b)
{
	const u16 first = b->part[b->n_parts - 1].first_insn;
	if (!tw_tallies() || !tw_engine.instr->records || !e->f->tally || e->f->c_reg != TW_NOREG)
		return (struct tw_tally_place){NOWHERE, TW_NOREG};
	for (u16 k = first; k < b->n_insns; k++) {
		u8 reg = defined(e, &b->insn[k]);
		if (reg != TW_NOREG)
			return (struct tw_tally_place){k, reg};
	}
	return (struct tw_tally_place){first, TW_NOREG};
}

u32 tw_tally_emit_early(struct emit *e, struct tw_tally_place place, u32 flags)
{
	const u8 reg = place.reg != TW_NOREG ? place.reg : choose_register(e, flags);
	borrow(e, reg, (u8)place.insn, flags);
	emit_add(e, reg, e->f->tally, TW_NOREG);
	e->passed |= STATE_TALLIED;
	if (place.reg != TW_NOREG)
		return STATE_SPILL;
	give_back(e, reg, (u8)place.insn, flags);
	return 0;
}

void tw_tally_emit(struct emit *e, u8 insn, u32 flags)
{
	const struct fragment *f = e->f;
	if (!f->tally) {
		emit_state(e, insn, flags);
		tw_call_tell(e, e->f, e->path);
		e->passed |= STATE_TALLIED;
		emit_state(e, insn, flags);
		return;
	}
	const u8 r = choose_register(e, flags);
	borrow(e, r, insn, flags);
	emit_add(e, r, f->tally + e->path, TW_NOREG);
	e->passed |= STATE_TALLIED;
	give_back(e, r, insn, flags);
}

/* The entry of a loop's own path: of its turns. */
static u32 turns_entry(const struct fragment *f)
{
	return f->tally + tw_path_count(f) - 1;
}

void tw_tally_emit_turns(struct emit *e, u8 insn, u32 flags)
{
	const struct fragment *f = e->f;
	if (!f->tally)
		return; /* told with the record behind it */
	const u8 r = choose_register(e, flags);
	borrow(e, r, insn, flags);
	emit_add(e, r, turns_entry(f), f->c_reg);
	e->passed |= STATE_TURNS;
	give_back(e, r, insn, flags);
}

/* ---- from C ---- */

static void add(const struct thread *t, u32 entry, u64 n)
{
	window(t)[entry] += n;
}

void tw_tally_tell(struct thread *t, const struct fragment *f, u8 path)
{
	if (f->c_reg != TW_NOREG)
		tw_buffer_tell(t, f, NULL, (const u8 *)t->bufptr - LOOP_RECORD_BYTES, LOOP_RECORD_BYTES);
	tw_buffer_tell(t, f, NULL, (const void *)t->bufptr, tw_path_bytes(f, path));
}

static void tally(struct thread *t, const struct fragment *f, u8 path)
{
	if (f->tally)
		add(t, f->tally + path, 1);
	else
		tw_buffer_tell(t, f, NULL, (const void *)t->bufptr, tw_path_bytes(f, path));
}

static void take_back(struct thread *t, const struct fragment *f, u8 path)
{
	if (f->tally)
		add(t, f->tally + path, (u64)-1);
	else
		tw_buffer_untell(t, tw_path_bytes(f, path));
}

static void tally_turns(struct thread *t, const struct fragment *f, u64 start)
{
	const u8 *record = (const u8 *)start - LOOP_RECORD_BYTES;
	u64 turns;
	if (!f->tally) {
		tw_buffer_tell(t, f, NULL, record, LOOP_RECORD_BYTES);
		return;
	}
	memcpy(&turns, record + 2, sizeof turns);
	add(t, turns_entry(f), turns);
}

void tw_tally_interrupted(struct thread *t, const struct fragment *f, const struct state_entry *s, u64 start)
{
	const bool tallied = s->flags & (STATE_TALLIED | STATE_CLOSED), told = tallied && !f->tally;
	const u64 bufptr = t->bufptr;
	t->bufptr = start;
	if (f->c_reg != TW_NOREG && !(s->flags & (STATE_TURNS | STATE_CLOSED)) && !told)
		tally_turns(t, f, start);
	if ((s->flags & STATE_DONE) && !tallied)
		tally(t, f, s->path);
	else if (!(s->flags & STATE_DONE) && tallied)
		take_back(t, f, s->path);
	t->bufptr = bufptr;
}

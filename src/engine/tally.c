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

/* The same with a borrowed register, at instruction `insn`; from then on the path has passed what `passed` says. */
static void emit_count(struct emit *e, u8 insn, u32 flags, u32 entry, u8 reg, u32 passed)
{
	const u8 borrowed = choose_register(e, flags);
	emit_spill(e, insn, borrowed, flags);
	emit_add(e, borrowed, entry, reg);
	e->passed |= passed;
	emit_unspill(e, insn, borrowed, flags);
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
	if (place.reg == TW_NOREG) {
		emit_count(e, (u8)place.insn, flags, e->f->tally, TW_NOREG, STATE_TALLIED);
		return 0;
	}
	emit_spill(e, (u8)place.insn, place.reg, flags);
	emit_add(e, place.reg, e->f->tally, TW_NOREG);
	e->passed |= STATE_TALLIED;
	return STATE_SPILL;
}

void tw_tally_emit(struct emit *e, u8 insn, u32 flags)
{
	const struct fragment *f = e->f;
	if (f->tally) {
		emit_count(e, insn, flags, f->tally + e->path, TW_NOREG, STATE_TALLIED);
		return;
	}
	tw_call_tell(e, e->f, e->path); /* a loop's turns with it */
	e->passed |= STATE_TALLIED | STATE_TURNS;
	emit_state(e, insn, flags);
}

/* The entry of a loop's own path: of its turns. */
static u32 turns_entry(const struct fragment *f)
{
	return f->tally + tw_path_count(f) - 1;
}

void tw_tally_emit_turns(struct emit *e, u8 insn, u32 flags)
{
	if (e->f->tally) /* else they are told with the record behind them */
		emit_count(e, insn, flags, turns_entry(e->f), e->f->c_reg, STATE_TURNS);
}

/* ---- from C ---- */

static void add(const struct thread *t, u32 entry, u64 n)
{
	window(t)[entry] += n;
}

/* The path's record stands at `start`. */
static void tally(struct thread *t, const struct fragment *f, u8 path, u64 start)
{
	if (f->tally)
		add(t, f->tally + path, 1);
	else
		tw_buffer_tell(t, f, NULL, (const void *)start, tw_path_bytes(f, path));
}

/* So does that of the loop's last turn, behind the one that says how many there were before. */
static void tally_turns(struct thread *t, const struct fragment *f, u64 start)
{
	const u8 *record = (const u8 *)start - LOOP_RECORD_BYTES;
	u64 turns;
	memcpy(&turns, record + 2, sizeof turns);
	if (f->tally)
		add(t, turns_entry(f), turns);
	else
		tw_buffer_tell(t, f, NULL, record, LOOP_RECORD_BYTES);
}

void tw_tally_tell(struct thread *t, const struct fragment *f, u8 path)
{
	if (f->c_reg != TW_NOREG)
		tally_turns(t, f, t->bufptr);
	tally(t, f, path, t->bufptr);
}

static void take_back(struct thread *t, const struct fragment *f, u8 path)
{
	if (f->tally)
		add(t, f->tally + path, (u64)-1);
	else
		tw_buffer_untell(t, tw_path_bytes(f, path));
}

void tw_tally_interrupted(struct thread *t, const struct fragment *f, const struct state_entry *s, u64 start)
{
	const bool done = s->flags & STATE_DONE, tallied = s->flags & (STATE_TALLIED | STATE_CLOSED);
	if (f->c_reg != TW_NOREG && !(s->flags & (STATE_TURNS | STATE_CLOSED)))
		tally_turns(t, f, start);
	if (done && !tallied)
		tally(t, f, s->path, start);
	else if (!done && tallied)
		take_back(t, f, s->path);
}

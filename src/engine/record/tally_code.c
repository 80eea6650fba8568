/* Code, emitted into the fragment, that counts a record in the thread's window (tally.h). */
#include "engine/record/tally_code.h"
#include "engine/record/tally.h"
#include "engine/record/instrumentor.h"
#include "engine/record/call_code.h"

#define NOWHERE 0xffff

u8 tw_tally_borrow(const struct emit *e, u32 flags)
{
	static const u8 choice[] = {TW_RBX, TW_RBP, TW_R12, TW_R13, TW_R14, TW_R15, TW_RDI, TW_RSI, TW_RDX, TW_RCX, TW_R8, TW_R9, TW_RAX};
	u32 never = 1u << e->buf | (flags & STATE_RCX_SLOT ? 1u << TW_RCX : 0);
	if (flags & STATE_C_SLOT)
		never |= 1u << e->rec->map.c_reg;
	for (unsigned k = 0; k < sizeof choice; k++)
		if (!((never | e->defs) >> choice[k] & 1))
			return choice[k];
	return never >> TW_RBX & 1 ? TW_RBP : TW_RBX;
}

/* Where entry `entry` of the window is, for %gs. */
static u32 entry_at(u32 entry)
{
	return T_WINDOW + entry * (u32)sizeof(u64);
}

/* Adds reg, or 1, to an entry of the window, by way of `sum`. */
static void emit_add(struct emit *e, u8 sum, u32 entry, u8 reg)
{
	const u32 at = entry_at(entry);
	emit_mov_reg_gs(e, sum, at);
	if (reg == TW_NOREG)
		emit_lea(e, sum, sum, 1);
	else
		emit_lea_sum(e, sum, reg);
	emit_mov_gs_reg(e, at, sum);
}

/* The same with a borrowed register, at instruction `insn`; from then on the path has passed `passed`. */
static void emit_count(struct emit *e, u8 insn, u32 flags, u32 entry, u8 reg, u32 passed)
{
	const u8 borrowed = tw_tally_borrow(e, flags);
	emit_spill(e, insn, borrowed, flags);
	emit_add(e, borrowed, entry, reg);
	e->passed |= passed;
	emit_unspill(e, insn, borrowed, flags);
	emit_state(e, insn, flags);
}

/* The register that the instruction defines, if the instruction can run while that register's value is in a slot. */
static u8 defined(const struct emit *e, const struct insn *i)
{
	const u8 reg = i->kind == INSN_PLAIN && !i->uses_gs && (!i->disp_at || i->lea_reg != TW_NOREG) ? tw_decode_defines(i) : TW_NOREG;
	return reg == TW_RSP || reg == e->buf || reg == BUF_REG ? TW_NOREG : reg;
}

static bool refers(const struct block *b, const struct insn *i)
{
	for (u16 n = 0; n < i->n_ops; n++)
		if (b->op[i->first_op + n].op.kind != TW_OP_SET)
			return true;
	return false;
}

static struct tw_tally_place place_at(const struct emit *e, const struct block *b, u16 k)
{
	const struct insn *i = &b->insn[k];
	if (tw_decode_overwrites_flags(i))
		return (struct tw_tally_place){k, TALLY_INC, TW_NOREG};
	const u8 reg = defined(e, i);
	if (reg == TW_NOREG)
		return (struct tw_tally_place){k, TALLY_BORROWED, TW_NOREG};
	return (struct tw_tally_place){k, refers(b, i) ? TALLY_SAVED : TALLY_LOST, reg};
}

struct tw_tally_place tw_tally_place(const struct emit *e, const struct block *b)
{
	struct tw_tally_place best = {NOWHERE, TALLY_BORROWED, TW_NOREG};
	if (!tw_tallies() || !tw_instr()->records || !e->rec->tally || e->rec->map.c_reg != TW_NOREG)
		return best;
	for (u16 k = b->part[b->n_parts - 1].first_insn; k < b->n_insns && best.how != TALLY_INC; k++) {
		const struct tw_tally_place here = place_at(e, b, k);
		if (best.insn == NOWHERE || here.how < best.how)
			best = here;
	}
	return best;
}

u32 tw_tally_emit_early(struct emit *e, struct tw_tally_place place, u32 flags)
{
	const u8 insn = (u8)place.insn;
	u32 until_run = STATE_UNSETTLED;
	switch (place.how) {
	case TALLY_INC:
		emit_inc_gs(e, entry_at(e->rec->tally));
		break;
	case TALLY_LOST:
		emit_state(e, insn, flags | STATE_UNSETTLED);
		emit_add(e, place.reg, e->rec->tally, TW_NOREG);
		break;
	case TALLY_SAVED:
		emit_spill(e, insn, place.reg, flags);
		emit_add(e, place.reg, e->rec->tally, TW_NOREG);
		until_run = STATE_SPILL;
		break;
	default:
		emit_count(e, insn, flags, e->rec->tally, TW_NOREG, STATE_TALLIED);
		return 0;
	}
	e->passed |= STATE_TALLIED;
	return until_run;
}

void tw_tally_emit(struct emit *e, u8 insn, u32 flags)
{
	const struct tw_recorded *f = e->rec;
	if (f->tally) {
		emit_count(e, insn, flags, f->tally + e->path, TW_NOREG, STATE_TALLIED);
		return;
	}
	tw_call_tell(e, e->rec, e->path); /* a loop's turns with it */
	e->passed |= STATE_TALLIED | STATE_TURNS;
	emit_state(e, insn, flags);
}

void tw_tally_emit_turns(struct emit *e, u8 insn, u32 flags)
{
	if (e->rec->tally) /* else they are told with the record behind them */
		emit_count(e, insn, flags, tw_tally_turns_entry(e->rec), e->rec->map.c_reg, STATE_TURNS);
}

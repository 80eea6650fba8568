#include "engine/code/pace.h"
#include "engine/code/records.h"
#include "engine/code/stale.h"
#include "engine/record/instrumentor.h"
#include "engine/record/tally_code.h"

#define RECORDS_READ  2000u
#define WANTED        10u /* among these; */
#define FEWEST        3u
#define MOST          80u
#define CANDIDATES    128u
#define MOST_PER_US   4u     /* a point that runs more often is dropped... */
#define ENOUGH_OF_HOT 40000u /* ...when it has been counted so often */
#define REST          256u   /* and for this many buffers none is looked for */
#define PATIENCE_NS   200000000u
#define TOO_FEW       100u /* in so many ns: it tells nothing */

static u64 points[TW_PACE_POINTS]; /* addresses of blocks; 0: none */
static u32 rest;                   /* buffers that are not looked at */

u32 tw_pace_point(u64 pc)
{
	for (u32 k = 0; k < TW_PACE_POINTS; k++)
		if (points[k] == pc && pc)
			return k + 1;
	return 0;
}

void tw_pace_emit(struct emit *e, u8 insn, u32 flags, u32 point)
{
	const u32 at = T_PACE + (point - 1) * (u32)sizeof(u64);
	const u8 reg = tw_tally_borrow(e, flags);
	emit_state(e, insn, flags);
	emit_spill(e, insn, reg, flags);
	emit_mov_reg_gs(e, reg, at);
	emit_lea(e, reg, reg, 1);
	emit_mov_gs_reg(e, at, reg);
	emit_unspill(e, insn, reg, flags);
	emit_state(e, insn, flags);
}

/* ---- choosing ---- */

struct candidate {
	u64 pc;
	u32 n;
};

/* Counts the blocks that start records; of loops, every iteration. */
static void count(struct candidate *c, const u8 *from, u64 to)
{
	struct tw_reader r = {from, (const u8 *)to, 0, 0};
	struct tw_record now;
	for (u32 n = 0; n < RECORDS_READ && tw_record_next(&r, &now); n++) {
		if (!now.f || !now.f->rec.piece)
			continue;
		const u64 pc = now.f->rec.piece[0].pc, turns = tw_record_is_loop(&now) ? now.turns : 1;
		u32 at = tw_hash(pc, 7);
		for (u32 k = 0; k < 4 && c[at].pc && c[at].pc != pc; k++)
			at = (at + 1) % CANDIDATES;
		if (c[at].pc && c[at].pc != pc)
			continue;
		c[at].pc = pc;
		c[at].n += turns < MOST ? (u32)turns : MOST;
	}
}

/* How far from what is wanted. */
static u32 distance(u32 n)
{
	return n < WANTED ? (WANTED - n) * 8 / n : n - WANTED;
}

/* The best that is none yet. */
static u64 choose(const struct candidate *c)
{
	const struct candidate *best = NULL;
	for (u32 k = 0; k < CANDIDATES; k++)
		if (c[k].n >= FEWEST && !tw_pace_point(c[k].pc) && (!best || distance(c[k].n) < distance(best->n)))
			best = &c[k];
	return best ? best->pc : 0;
}

/* Does the thread's point k run so often that counting it costs something? */
static bool is_hot(const struct thread *t, u32 k)
{
	const struct tw_pace *bare = &t->record->budget.bare_pace;
	return bare->n[k] > MOST_PER_US * (bare->ns / 1000 + 1);
}

/* ... then it is dropped when it has been counted enough. */
static bool is_done(const struct thread *t, u32 k)
{
	return is_hot(t, k) && t->record->budget.record_pace.n[k] > ENOUGH_OF_HOT && t->record->budget.bare_pace.n[k] > ENOUGH_OF_HOT;
}

/* ... and one that hardly runs is dropped at once. */
static bool is_gone(const struct thread *t, u32 k)
{
	return t->record->budget.bare_pace.ns > PATIENCE_NS && t->record->budget.bare_pace.n[k] < TOO_FEW;
}

void tw_pace_look(struct thread *t, const u8 *from, u64 to)
{
	struct candidate c[CANDIDATES];
	bool wanted = false;
	for (u32 k = 0; k < TW_PACE_POINTS; k++)
		wanted |= !points[k];
	if (!wanted || !tw_engine.control->budget.period || tw_bits_recorded() || t->code->pace_found)
		return;
	if (rest && rest--)
		return;
	memset(c, 0, sizeof c);
	count(c, from, to);
	t->code->pace_found = choose(c);
}

static void put(u32 k, u64 pc)
{
	const u64 at = pc ? pc : points[k];
	points[k] = pc;
	tw_fragment_invalidate(at, at + 1);
	tw_recorder.points++;
}

bool tw_pace_follow(struct thread *t)
{
	const u64 found = t->code->pace_found;
	t->code->pace_found = 0;
	for (u32 k = 0; k < TW_PACE_POINTS; k++) {
		if (points[k] && (is_done(t, k) || is_gone(t, k))) {
			rest = is_done(t, k) ? REST : 0;
			put(k, 0);
			return true;
		}
		if (!points[k] && found && !tw_pace_point(found)) {
			put(k, found);
			return true;
		}
	}
	return false;
}

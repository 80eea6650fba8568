#include "engine/record/bits.h"
#include "engine/record/buffer.h"
#include "engine/record/pen.h"
#include "engine/record/walk.h"

/* Most bytes that a walk writes when it starts or gets a target. */
#define ENTER_BYTES 16

void tw_bits_left(struct thread *t, u64 pc, bool outside)
{
	t->record->stop_pc = pc;
	if (outside && t->record->walks)
		tw_walk_stop(t);
}

void tw_bits_enter(struct thread *t, const struct tw_recorded *f)
{
	if (tw_pen_in_slack(t) || !tw_pen_has_room(t, ENTER_BYTES))
		tw_buffer_switch(t);
	if (t->record->walks && !t->record->stop_pc) {
		tw_walk_put(t, f->tag);
		return;
	}
	if (t->record->walks && t->record->stop_pc == f->pc && !f->announced)
		return;
	if (t->record->walks)
		tw_walk_stop(t);
	if (tw_pen_in_slack(t) || !tw_pen_has_room(t, ENTER_BYTES))
		tw_buffer_switch(t);
	tw_walk_begin(t, f->tag);
}

/* Does leaving f write a bit or a target? */
static bool has_item(const struct tw_recorded *f)
{
	return f->ticks || f->end == TW_END_COND || f->end == TW_END_RETURN || f->end == TW_END_IJUMP || f->end == TW_END_ICALL;
}

/* The walk ends before f, of which only a part has run. */
static void stop_within(struct thread *t, const struct tw_recorded *f, const struct state_entry *s)
{
	const bool in_rep = s->flags & STATE_IN_REP;
	struct tw_partial p = {s->insn, in_rep, {0}};
	t->record->stop_pc = f->pc;
	if (!s->insn && !in_rep)
		return;
	memcpy(p.regs, t->regs, sizeof p.regs);
	tw_buffer_event(t, TW_EVENT_PARTIAL, &p, sizeof p, NULL, 0);
	tw_walk_put(t, TW_MARK_BLOCK);
	tw_walk_put(t, f->tag);
}

void tw_bits_interrupted(struct thread *t, const struct tw_recorded *f, const struct state_entry *s, bool way_in)
{
	if (s->insn == BITS_SWITCHES)
		tw_walk_next_group(t); /* the rest of the change to another group */
	const bool told = s->insn >= BITS_SWITCHES;
	if (way_in)
		t->record->stop_pc = told ? f->pc : 0;
	else if (s->flags & STATE_NOT_OPEN)
		t->record->stop_pc = f->pc;
	else if (s->flags & STATE_DONE)
		t->record->stop_pc = has_item(f) && !told ? 0 : t->pc;
	else
		stop_within(t, f, s);
	if (t->record->walks)
		tw_walk_stop(t);
}

#include "engine/record/bits.h"
#include "engine/record/buffer.h"

/* Most that a walk that starts, or is given a target, writes. */
#define ENTER_BYTES 16

#define EMPTY 3u /* thread.bits of a group with no bits */

static void put32(struct thread *t, u32 v)
{
	tw_buffer_put(t, &v, sizeof v);
}

/* The group as it is stored: without the upper one of the two ones at its top. */
static u32 stored(u64 bits)
{
	u64 top = 2;
	while (bits >> 1 >= top)
		top <<= 1;
	return (u32)(bits & ~top);
}

void tw_bits_stop(struct thread *t)
{
	const bool complete = t->bits >> 32;
	t->record->walks = false;
	*(u32 *)t->group = complete ? (u32)t->bits : stored(t->bits);
	if (complete)
		put32(t, stored(EMPTY)); /* behind a complete group there is another */
	struct {
		u32 mark, reserved;
		u64 pc;
	} stop = {TW_MARK_STOP, 0, t->record->stop_pc};
	tw_buffer_put(t, &stop, sizeof stop);
}

void tw_bits_left(struct thread *t, u64 pc, bool outside)
{
	t->record->stop_pc = pc;
	if (outside && t->record->walks)
		tw_bits_stop(t);
}

void tw_bits_enter(struct thread *t, const struct tw_recorded *f)
{
	if (tw_buffer_in_slack(t) || !tw_buffer_has_room(t, ENTER_BYTES))
		tw_buffer_switch(t);
	if (t->record->walks && !t->record->stop_pc) {
		put32(t, f->tag);
		return;
	}
	if (t->record->walks && t->record->stop_pc == f->pc && !f->announced)
		return;
	if (t->record->walks)
		tw_bits_stop(t);
	if (tw_buffer_in_slack(t) || !tw_buffer_has_room(t, ENTER_BYTES))
		tw_buffer_switch(t);
	put32(t, TW_MARK_START);
	put32(t, f->tag);
	t->group = t->bufptr;
	put32(t, 0);
	t->bits = EMPTY;
	t->record->walks = true;
}

/* Is there a bit or a target for the way f is left by? */
static bool has_item(const struct tw_recorded *f)
{
	return f->ticks || f->end == TW_END_COND || f->end == TW_END_RETURN || f->end == TW_END_IJUMP || f->end == TW_END_ICALL;
}

/* The walk stands before f, of which only a part has run. */
static void stop_within(struct thread *t, const struct tw_recorded *f, const struct state_entry *s)
{
	const bool in_rep = s->flags & STATE_IN_REP;
	struct tw_partial p = {s->insn, in_rep, {0}};
	t->record->stop_pc = f->pc;
	if (!s->insn && !in_rep)
		return;
	memcpy(p.regs, t->regs, sizeof p.regs);
	tw_buffer_event(t, TW_EVENT_PARTIAL, &p, sizeof p, NULL, 0);
	put32(t, TW_MARK_BLOCK);
	put32(t, f->tag);
}

void tw_bits_interrupted(struct thread *t, const struct tw_recorded *f, const struct state_entry *s, bool way_in)
{
	if (s->insn == BITS_SWITCHES) { /* the rest of the change to another group */
		t->group = t->bufptr;
		t->bufptr += TW_GROUP_BYTES;
		t->bits = EMPTY;
	}
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
		tw_bits_stop(t);
}

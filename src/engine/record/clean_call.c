#include "engine/record/clean_call.h"
#include "engine/record/buffer.h"
#include "engine/record/instrumentor.h"
#include "engine/record/log.h"
#include "engine/record/pen.h"
#include "engine/record/tally.h"
#include "engine/x86_64/operand.h"

/* The same if only addresses are wanted, computed from the registers where they are. */
static void log_plain(struct thread *t, const struct call_site *s)
{
	for (u16 k = 0; k < s->n_ops; k++) {
		const struct tw_op *op = &s->op[k].op;
		u64 base = op->base != TW_NOREG ? tw_register_in(t, &s->places, op->base) : 0;
		u64 index = op->index != TW_NOREG ? tw_register_in(t, &s->places, op->index) : 0;
		tw_log_address(t, op, tw_operand_address(t, op, base, index));
	}
}

/* What tw_emit_number emits, from C, at thread.bufptr. */
static void write_number(struct thread *t, const struct tw_recorded *f)
{
	u32 zero[2] = {(u32)TW_ESCAPE_ZERO << 16, f->tag >> 16};
	if (tw_form_now() == TW_FORM_PLAIN)
		memcpy((void *)t->bufptr, &f->number, f->head);
	else if (f->tag & 0xffff)
		memcpy((void *)t->bufptr, &f->tag, 2);
	else
		memcpy((void *)t->bufptr, zero, TW_ZERO_BYTES);
}

/*
 * A fragment begins; its tag has just been stored at the buffer pointer. All that it can write must fit into this
 * buffer, with its REFS event: if not, the tag is removed and stored again at the start of the next buffer.
 */
static void begin(struct thread *t, const struct call_site *s)
{
	t->record->record_at = t->bufptr;
	u64 raw[TW_NREGS], regs[TW_NREGS];
	tw_log_begin(t, s->pc);
	if (tw_pen_has_room(t, s->bound))
		return;
	memset((void *)t->record->record_at, 0, s->f->head);
	tw_state_registers(t, &s->f->map, t->cc_ret, true, regs);
	memcpy(raw, t->regs, sizeof raw);
	memcpy(t->regs, regs, sizeof raw); /* the keyframe is of the application's */
	t->upper = s->f->upper_in;
	tw_buffer_switch(t);
	memcpy(t->regs, raw, sizeof raw);
	write_number(t, s->f);
	t->record->record_at = t->bufptr;
}

/* What wants all registers. */
static void log_all(struct thread *t, const struct call_site *s)
{
	u64 regs[TW_NREGS];
	tw_state_registers(t, &s->f->map, t->cc_ret, true, regs);
	if (s->what == CALL_AFTER) {
		tw_log_rep_end(t, regs, &s->op[0].op);
		return;
	}
	if (s->vectors && !tw_log_save_vectors(t))
		return;
	for (u16 k = 0; k < s->n_ops; k++)
		tw_log_reference(t, regs, &s->op[k]);
}

static void perform(struct thread *t, const struct call_site *s)
{
	if (s->plain)
		log_plain(t, s);
	else if (s->what == CALL_ENTRY)
		begin(t, s);
	else if (s->what == CALL_CLOSE)
		tw_log_flush(t);
	else if (s->what == CALL_TELL)
		tw_tally_tell(t, s->f, (u8)s->insn);
	else
		log_all(t, s);
}

/*
 * The state map for this place exists when the fragment is complete, so the first call looks it up. If two threads
 * do, they find the same.
 */
static void find_places(struct thread *t, struct call_site *s)
{
	s->buf = tw_state_places(&s->f->map, t->cc_ret, true, &s->places);
	__atomic_store_n(&s->found, true, __ATOMIC_RELEASE);
}

u64 tw_call_made(struct thread *t)
{
	struct call_site *s = (struct call_site *)t->cc_info;
	if (!__atomic_load_n(&s->found, __ATOMIC_ACQUIRE))
		find_places(t, s);
	t->bufptr = t->regs[s->buf];
	perform(t, s);
	t->regs[s->buf] = t->bufptr;
	return t->cc_ret;
}

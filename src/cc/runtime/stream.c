/* Streams: how they begin, continue in the next buffer, follow the switch, and end. */
#include "runtime.h"

/* ---- the switch ---- */

/* Times never go backwards: the thread may still have been recording when the switch was turned off. */
static void tell_window(struct tw_cc_process *p, struct tw_cc_stream *s, uint32_t open, uint32_t reason, uint64_t pc, uint64_t tsc)
{
	s->time = tsc > s->time ? tsc : s->time;
	const struct tw_window e = {open, reason, pc, s->time};
	uint64_t *pen = tw_cc_pointer_pen(p, s);
	*pen = tw_cc_event(*pen, TW_EVENT_WINDOW, &e, sizeof e, 0, 0);
}

/* Tells whether what is written from now on is recorded. */
static void follow_switch(struct tw_cc_process *p, struct tw_cc_stream *s, uint8_t on, uint64_t pc)
{
	const struct tw_version_switch *w = tw_channel_switch(p->control);
	const uint32_t reason = atomic_load(&w->reason);
	if (s->on)
		tell_window(p, s, 0, reason, 0, atomic_load(&w->closed));
	if (on)
		tell_window(p, s, 1, reason, pc, tw_cc_time());
	s->on = on;
}

/* Recording goes on where it stopped, with these registers. */
static uint64_t come_back(struct tw_cc_process *p, struct tw_cc_stream *s, uint8_t on, uint64_t pc, const uint64_t *regs)
{
	tw_cc_pointer_take(p, s);
	s->quiet = false;
	s->pointer = s->resume;
	s->upper = s->resume_upper;
	follow_switch(p, s, on, pc);
	if (!s->pen)
		s->pointer = tw_cc_buffer_keyframe(p, s, s->pointer, regs);
	else if (s->pen & TW_CC_FULL)
		tw_cc_buffer_turn(p, s);
	return s->pointer;
}

void tw_cc_stream_enter(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pc)
{
	const uint8_t on = atomic_load(&tw_channel_switch(p->control)->on);
	if (!on || on == s->on)
		return;
	if (s->quiet) {
		come_back(p, s, on, pc, 0);
		return;
	}
	follow_switch(p, s, on, pc);
	if (!s->pen)
		s->pointer = tw_cc_buffer_keyframe(p, s, s->pointer, 0);
	else if (s->pen & TW_CC_FULL)
		tw_cc_buffer_turn(p, s);
}

/* Where there is no memory for that, recording goes on. */
static uint64_t go_away(struct tw_cc_stream *s, uint64_t pointer)
{
	const uint64_t quiet = tw_cc_buffer_quiet(s);
	if (!quiet)
		return pointer;
	s->quiet = true;
	s->resume = pointer;
	s->resume_upper = s->upper;
	return quiet;
}

uint64_t tw_cc_stream_follow(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, uint64_t pc, const uint64_t *regs)
{
	if (!p->windows || s->number == TW_SLOTS)
		return pointer;
	const uint8_t on = atomic_load(&tw_channel_switch(p->control)->on);
	if (s->quiet)
		return on ? come_back(p, s, on, pc, regs) : pointer;
	if (on)
		s->on = on; /* if it was off meanwhile, nobody here has seen that */
	return on ? pointer : go_away(s, pointer);
}

/* Goes on in the next buffer that is read. */
static uint64_t turn(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, const uint64_t *regs)
{
	if (s->pen) {
		tw_cc_tally_turn(p, s, pointer);
		tw_cc_buffer_close_tail(s, TW_BUFFERS);
		return s->own;
	}
	const uint32_t next = (s->current + 1) % p->control->sizes.buffers;
	if (p->batch) {
		tw_cc_batch_take(p, s, pointer, false);
		return tw_cc_buffer_open(p, s, next, regs);
	}
	tw_cc_buffer_close(p, s, pointer);
	if (tw_cc_buffer_wait(p, tw_cc_slot_of(p, s), next))
		return tw_cc_buffer_open(p, s, next, regs);
	tw_cc_buffer_unmap(p, s);
	return tw_cc_buffer_spare(p, s);
}

uint64_t tw_cc_stream_switch(struct tw_cc_process *p, struct tw_cc_stream *s, uint64_t pointer, const uint64_t *regs)
{
	if (s->number == TW_SLOTS)
		return s->buffer;
	if (s->quiet)
		pointer = tw_cc_stream_follow(p, s, tw_cc_buffer_quiet(s), 0, regs);
	if (!(pointer & TW_CC_FULL))
		return pointer;
	pointer = turn(p, s, pointer, regs);
	return tw_cc_stream_follow(p, s, pointer, 0, regs);
}

/* The stream begins, perhaps while the switch is off. */
static void begin_on(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	const struct tw_version_switch *w = tw_channel_switch(p->control);
	s->on = p->batch ? 1 : atomic_load(&w->on);
	if (!s->on && (p->switchable || p->windows))
		tell_window(p, s, 0, atomic_load(&w->reason), 0, tw_cc_time());
	else if (!s->on)
		s->on = 1;
}

/* ---- beginning and ending ---- */

void tw_cc_stream_begin(struct tw_cc_process *p, struct tw_cc_thread *t, struct tw_cc_stream *s)
{
	s->active = 0;
	s->base = s->pen = s->torn = 0;
	s->tails = 0;
	s->scratch = false;
	s->upper = 0;
	if (!tw_cc_slot_get(p, t, s)) {
		s->pointer = tw_cc_buffer_spare(p, s);
		return;
	}
	s->pointer = tw_cc_buffer_open(p, s, 0, 0);
	const bool handles = tw_cc_slot_is_handlers(t, s);
	const struct tw_thread_start e = {p->pid, t->tid, handles ? p->pid : t->parent_pid, handles ? t->tid : t->parent_tid, tw_cc_time()};
	s->pointer = tw_cc_event(s->pointer, TW_EVENT_THREAD_START, &e, sizeof e, 0, 0);
	begin_on(p, s);
	if (tw_cc_tallies(p))
		tw_cc_buffer_tally(p, s);
	s->pointer = tw_cc_stream_follow(p, s, s->pointer, 0, 0);
}

void tw_cc_stream_end(struct tw_cc_process *p, struct tw_cc_stream *s, int32_t status, uint32_t what)
{
	if (!s->pointer)
		return;
	tw_cc_pointer_take(p, s);
	if (s->quiet)
		s->pointer = s->resume;
	if (s->number != TW_SLOTS && (p->switchable || p->windows) && !atomic_load(&tw_channel_switch(p->control)->on))
		follow_switch(p, s, 0, 0);
	uint64_t pointer = tw_cc_pointer_take(p, s);
	if (s->number != TW_SLOTS) {
		const struct tw_thread_end e = {status, what, tw_cc_time()};
		if (s->pen) {
			tw_cc_tally_end(p, s, pointer);
			pointer = s->pen;
		}
		pointer = tw_cc_event(pointer, TW_EVENT_THREAD_END, &e, sizeof e, 0, 0);
		if (p->batch)
			tw_cc_batch_take(p, s, pointer, true);
		else
			tw_cc_buffer_close(p, s, pointer);
		atomic_store(&tw_cc_slot_of(p, s)->state, p->batch ? TW_SLOT_FREE : TW_SLOT_ENDED);
		tw_cc_buffer_ring(p);
	}
	tw_cc_buffer_unmap(p, s);
	s->pointer = 0;
}

void tw_cc_stream_forget(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	if (!s->pointer)
		return;
	s->torn = 0; /* that is the parent's to end */
	tw_cc_pointer_take(p, s);
	tw_cc_buffer_unmap(p, s);
	s->pointer = 0;
}

void tw_cc_stream_abandon(struct tw_cc_process *p, struct tw_cc_stream *s)
{
	if (!s->pointer)
		return;
	if (s->number != TW_SLOTS && p->batch)
		tw_cc_batch_take(p, s, 0, true);
	if (s->number != TW_SLOTS)
		atomic_store(&tw_cc_slot_of(p, s)->state, p->batch ? TW_SLOT_FREE : TW_SLOT_DEAD);
	tw_cc_buffer_unmap(p, s);
	*s = (struct tw_cc_stream){0};
}

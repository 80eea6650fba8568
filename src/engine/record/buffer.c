#include "engine/record/buffer.h"
#include "engine/record/bits.h"
#include "engine/record/budget.h"
#include "engine/record/guard.h"
#include "engine/record/known.h"
#include "engine/record/slot.h"
#include "engine/record/spare.h"
#include "engine/record/tally.h"
#include "engine/thread.h"
#include "engine/record/window.h"
#include "engine/x86_64/glue.h"
#include "engine/record/clean_call.h"
#include "engine/record/instrumentor.h"
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/time_types.h>
#include <linux/mman.h>

/* What stands in a buffer for so many cycles is old: a tenth of a second or so. Beyond so many slots there is a crowd. */
#define OLD_CYCLES (1ull << 28)
#define MANY_SLOTS 512u

/* Bytes that can be written from C at thread.bufptr. */
static i64 room(const struct thread *t)
{
	u64 data_end = (u64)t->record->buffer + TW_BUFFER_BYTES, slack_end = (u64)tw_channel_slack(t->record->buffer) + TW_SLACK_BYTES;
	return (i64)((t->bufptr <= data_end ? data_end : slack_end) - t->bufptr);
}

static bool is_tagged(void)
{
	return tw_form_of(tw_recorder.whole->format) == TW_FORM_TAGGED;
}

/* p may be NULL when n is 0. */
static void put(struct thread *t, const void *p, u32 n)
{
	const u8 *from = p;
	u8 *to = (u8 *)t->bufptr;
	if (!p)
		return;
	t->bufptr += n;
	for (; n >= 8; n -= 8, from += 8, to += 8) /* most are short, and memcpy takes long to begin */
		memcpy(to, from, 8);
	for (; n; n--)
		*to++ = *from++;
}

static void put_event(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb)
{
	const u32 unit = tw_bits_recorded() ? 4 : 2; /* what lengths are a multiple of */
	struct tw_event_header h = {TW_TAG_EVENT, type, (na + nb + unit - 1) & ~(unit - 1)};
	/* The tag last: a reader that finds it finds the whole event. In the tagged form an escape stands before it. */
	t->bufptr += is_tagged() ? 2 : 0;
	u64 at = t->bufptr;
	t->bufptr += 2;
	put(t, (u8 *)&h + 2, sizeof h - 2);
	put(t, a, na);
	put(t, b, nb);
	put(t, "\0\0", h.bytes - na - nb);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(volatile u16 *)at = TW_TAG_EVENT;
}

/* Appends an event where the thread writes now. */
static void event_here(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb)
{
	if (!tw_recorder.whole->records || !tw_window_keeps(t, type))
		return;
	if (t->record->walks)
		tw_bits_stop(t);
	tw_buffer_reserve(t, (u32)sizeof(struct tw_event_header) + na + nb + 3);
	put_event(t, type, a, na, b, nb);
}

static void put_keyframe(struct thread *t)
{
	struct tw_keyframe k;
	memcpy(k.regs, t->regs, sizeof k.regs);
	k.seg_base[TW_SEG_NONE] = 0;
	k.seg_base[TW_SEG_FS] = t->app_fs;
	k.seg_base[TW_SEG_GS] = t->app_gs;
	k.tsc = tw_tsc();
	k.upper = t->upper;
	k.program = tw_known_program();
	memset(t->status, TW_UPDATED, sizeof t->status);
	event_here(t, TW_EVENT_KEYFRAME, &k, sizeof k, NULL, 0);
}

void tw_buffer_keyframe(struct thread *t)
{
	if (t->record->told_closed || t->record->tallied)
		return;
	if (t->record->buffer)
		tw_buffer_reserve(t, TW_MAX_EVENT); /* a switch would come between its time and its place */
	put_keyframe(t);
}

/* ---- buffers ---- */

/* A tallied thread turns to the buffer of its slot, or back to its own. */
static void turn(struct thread *t)
{
	struct tw_pen here = {t->record->buffer, t->bufptr, t->record->slack_jump, t->upper};
	t->record->buffer = t->record->other.buffer;
	t->bufptr = t->record->other.bufptr;
	t->record->slack_jump = t->record->other.slack_jump;
	t->upper = t->record->other.upper;
	t->record->other = here;
	t->record->telling = !t->record->telling;
}

/* A tallied thread is about to write over what is in its own buffer. */
static void note_written(struct thread *t)
{
	struct tw_slot *s = tw_slot_of(t);
	s->written += t->bufptr - (u64)t->record->buffer;
	s->keyframes += sizeof(struct tw_event_header) + sizeof(struct tw_keyframe);
}

static void open_buffer(struct thread *t, u8 *buffer)
{
	t->record->buffer = buffer;
	t->bufptr = (u64)buffer;
	t->record->opened = tw_tsc();
	put_keyframe(t);
}

static void close_buffer(struct thread *t)
{
	struct tw_slot *s = tw_slot_of(t);
	u32 b = s->current;
	u64 start = (u64)t->record->buffer, slack = (u64)tw_channel_slack(t->record->buffer);
	s->buffer[b].slack_end = 0;
	if (t->bufptr >= slack) {
		s->buffer[b].slack_end = (u32)(t->bufptr - slack);
		s->buffer[b].bytes = (u32)(t->record->slack_jump + 4 - start);
	} else {
		s->buffer[b].bytes = (u32)(t->bufptr - start);
	}
	STORE_RELEASE(&s->buffer[b].state, TW_BUFFER_FULL);
	tw_slot_ring();
}

/* Waits until the collector has given the buffer back; false when it is gone. */
static bool wait_empty(struct tw_slot *s, u32 b)
{
	const struct __kernel_timespec pause = {0, 100000000};
	while (LOAD_ACQUIRE(&s->buffer[b].state) != TW_BUFFER_EMPTY) {
		if (!tw_channel_collector_alive(tw_engine.control))
			return false;
		tw_sys4(__NR_futex, &s->buffer[b].state, FUTEX_WAIT, TW_BUFFER_FULL, &pause);
	}
	return true;
}

/* From here on the thread writes over one buffer of its slot again and again, and nobody reads it. */
static void stop_recording(struct thread *t)
{
	t->record->recording = false;
	tw_engine.control->failure = tw_engine.control->failure ? tw_engine.control->failure : TW_FAILURE_COLLECTOR;
}

/* Makes buffer `b` of its slot the thread's, accessible the first time it is used. False: that it cannot be. */
static bool take_buffer(struct thread *t, u32 b)
{
	u8 *buffer = tw_channel_buffer(tw_engine.channel, t->record->slot, b);
	if (!(t->record->usable >> b & 1) && !tw_guard_open(buffer)) {
		tw_engine_fail(TW_FAILURE_CHANNEL, "more memory mappings than the kernel allows (sysctl vm.max_map_count)");
		return false;
	}
	tw_slot_of(t)->current = b;
	t->record->buffer = buffer;
	t->record->usable |= 1u << b;
	return true;
}

/* From here on the thread is not recorded. */
static void take_spare(struct thread *t)
{
	t->record->buffer = tw_spare_buffer(t);
	t->record->recording = false;
	t->record->spare = true;
}

static void go_on_in_next(struct thread *t)
{
	if (t->record->walks)
		tw_bits_stop(t);
	if (!t->record->telling && !t->record->spare)
		tw_record_calls.buffer_done(t, t->record->buffer, /* not the guard page between data and slack */
		                            tw_buffer_in_slack(t) ? t->record->slack_jump : t->bufptr);
	if (t->record->tallied && !t->record->telling) {
		note_written(t);
	} else if (t->record->recording) {
		struct tw_slot *s = tw_slot_of(t);
		close_buffer(t);
		u32 next = (s->current + 1) % tw_sizes()->buffers;
		if (!wait_empty(s, next)) {
			stop_recording(t);
		} else if (!take_buffer(t, next)) {
			take_spare(t);
		}
	}
	open_buffer(t, t->record->buffer);
}

void tw_buffer_switch(struct thread *t)
{
	const u64 began = tw_budget_begin();
	const u64 end = tw_buffer_in_slack(t) ? t->record->slack_jump : t->bufptr;
	const u64 bytes = t->record->telling ? 0 : end - (u64)t->record->buffer;
	go_on_in_next(t);
	tw_budget_switched(t, bytes);
	tw_budget_end(t, began);
}

void tw_buffer_hand_over(struct thread *t, u64 now)
{
	const bool own = t->record->recording && !t->record->tallied && t->record->slot < MANY_SLOTS;
	const bool old = now - t->record->opened > OLD_CYCLES;
	if (own && old && t->bufptr > (u64)t->record->buffer + sizeof(struct tw_event_header) + sizeof(struct tw_keyframe))
		tw_buffer_switch(t);
}

void tw_buffer_put(struct thread *t, const void *p, u32 n)
{
	u64 slack = (u64)tw_channel_slack(t->record->buffer);
	if (room(t) < (i64)n && t->bufptr < slack) {
		t->record->slack_jump = t->bufptr - 4; /* where the data ends is 4 behind this: close_buffer */
		t->bufptr = slack;
	}
	put(t, p, n);
}

bool tw_buffer_in_slack(const struct thread *t)
{
	return t->bufptr >= (u64)tw_channel_slack(t->record->buffer);
}

bool tw_buffer_has_room(const struct thread *t, u32 bytes)
{
	return room(t) >= (i64)bytes;
}

void tw_buffer_reserve(struct thread *t, u32 bytes)
{
	if (room(t) < (i64)bytes)
		tw_buffer_switch(t);
}

u64 tw_buffer_time(struct thread *t)
{
	if (t->record->buffer)
		tw_buffer_reserve(t, TW_MAX_EVENT);
	return tw_tsc();
}

void tw_buffer_event(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb)
{
	if (t->record->tallied)
		turn(t);
	event_here(t, type, a, na, b, nb);
	if (t->record->tallied)
		turn(t);
}

void tw_buffer_tell(struct thread *t, const struct tw_recorded *f, const struct tw_partial *p, const void *record, u32 bytes)
{
	if (!t->record->tallied)
		return;
	turn(t);
	tw_buffer_reserve(t, TW_ESCAPE_BYTES + (u32)(sizeof(struct tw_event_header) + sizeof *p) + bytes);
	tw_buffer_upper(t, f);
	if (p)
		put_event(t, TW_EVENT_PARTIAL, p, sizeof *p, NULL, 0);
	else
		tw_slot_of(t)->copied += bytes;
	put(t, record, bytes);
	turn(t);
}

void tw_buffer_untell(struct thread *t, u32 bytes)
{
	if (!t->record->tallied)
		return;
	turn(t);
	t->bufptr -= bytes;
	memset((void *)t->bufptr, 0, bytes);
	tw_slot_of(t)->copied -= bytes;
	turn(t);
}

void tw_buffer_upper(struct thread *t, const struct tw_recorded *f)
{
	if (!tw_instr()->records || tw_upper_fits(f, t->upper))
		return;
	tw_buffer_reserve(t, TW_ESCAPE_BYTES);
	u32 record = (u32)f->upper_in << 16 | (is_tagged() ? 0 : TW_TAG_UPPER);
	put(t, &record, TW_ESCAPE_BYTES);
	t->upper = f->upper_in;
}

/* ---- a thread begins and ends ---- */

/* The thread has begun to write to its slot. What it tells goes there from now on; records, which it counts itself, to a buffer of its own. */
static void begin_tally(struct thread *t)
{
	turn(t);
	t->upper = 0;
	open_buffer(t, t->record->own);
	t->record->telling = false;
	t->record->tallied = true;
}

static void end_tally(struct thread *t)
{
	if (!t->record->tallied)
		return;
	note_written(t);
	turn(t);
	t->record->tallied = t->record->telling = false;
}

/* Those that a thread writes to that is recorded. False: they cannot be had. */
static bool get_buffers(struct thread *t)
{
	t->record->usable = 0;
	if (!take_buffer(t, 0))
		return false;
	if (!tw_tallies() || tw_spare_own(t))
		return true;
	tw_engine_fail(TW_FAILURE_CHANNEL, "no memory for a thread's buffer");
	return false;
}

void tw_buffer_attach(struct thread *t, u32 parent_pid, u32 parent_tid)
{
	bool records = tw_recorder.whole->records;
	t->record->tallied = t->record->telling = false;
	t->record->slot = NO_SLOT; /* in a new process it is the parent's */
	bool has_slot = tw_slot_take(t);
	if (t->pid == t->tid)
		tw_spare_lend_mappings(true);
	if (has_slot && records && !get_buffers(t)) {
		tw_slot_leave(t);
		has_slot = false;
	}
	t->record->recording = has_slot && records;
	t->record->spare = false;
	t->record->told_closed = t->record->walks = false;
	t->count = 0;
	t->upper = 0;
	tw_budget_attach(t);
	if (has_slot)
		tw_slot_set_up(t, parent_pid);
	if (!t->record->recording && records)
		take_spare(t);
	if (tw_tallies() && !tw_tally_open(t))
		tw_engine_fail(TW_FAILURE_CHANNEL, "no memory to count executions in");
	if (t->pid == t->tid)
		tw_spare_lend_mappings(false);
	if (records)
		open_buffer(t, t->record->buffer);
	if (!t->record->recording)
		return;
	if (tw_tallies())
		begin_tally(t);
	struct tw_thread_start e = {t->pid, t->tid, parent_pid, parent_tid, tw_buffer_time(t)};
	tw_buffer_event(t, TW_EVENT_THREAD_START, &e, sizeof e, NULL, 0);
}

void tw_buffer_detach(struct thread *t, i32 status, u32 what)
{
	if (t->record->recording) {
		tw_budget_detach(t);
		tw_call_flush(t);
		struct tw_thread_end e = {status, what, tw_buffer_time(t)};
		tw_buffer_event(t, TW_EVENT_THREAD_END, &e, sizeof e, NULL, 0);
		end_tally(t);
		close_buffer(t);
		t->record->recording = false;
	}
	tw_spare_disown(t);
	tw_slot_give_back(t);
}

/* ---- guards ---- */

bool tw_buffer_guard(const struct thread *t, u64 address)
{
	u64 guard = (u64)t->record->buffer + TW_BUFFER_BYTES;
	return address >= guard && address < guard + TW_PAGE;
}

/* Writes the jump to the slack over a record's tag. The last two bytes of the data leave no room for it: then the guard lends two. */
static void put_slack_jump(struct thread *t, u64 at, u64 to)
{
	const bool lent = at + 4 > (u64)t->record->buffer + TW_BUFFER_BYTES;
	u32 jump = (u32)(to - (u64)tw_channel_slack(t->record->buffer)) << 16 | TW_TAG_SLACK;
	if (t->record->spare)
		return; /* nobody reads it, and the guard is that of others too */
	if (lent)
		tw_guard_lend(t->record->buffer);
	*(volatile u32 *)at = jump;
	if (lent)
		tw_guard_take_back(t->record->buffer);
	t->record->slack_jump = at;
}

/* Values that the instruction just executed was to have stored after it. `values`: where those of the record are; none is written from `end` on. */
static void put_after(const struct thread *t, u64 values, u64 end, const struct tw_recorded *f, u32 insns)
{
	for (u16 k = 0; k < f->n_after; k++) {
		u64 at = values + 8u * f->after[k].slot;
		if (f->after[k].insn + 1u == insns && at + 8 <= end)
			memcpy((void *)at, &t->regs[f->after[k].reg], 8);
	}
}

void tw_buffer_stop(struct thread *t, u64 values, u64 end, const struct tw_recorded *f, u32 insns, bool in_rep)
{
	const u32 first = tw_piece_of(f, insns)->first_insn;
	struct tw_partial p = {insns - first, in_rep, {0}};
	u64 data_end = (u64)t->record->buffer + TW_BUFFER_BYTES;
	end = end < data_end ? end : data_end;
	put_after(t, values, end, f, insns);
	memcpy(p.regs, t->regs, sizeof p.regs);
	t->record->slack_jump = end - 4; /* where the data ends is 4 behind this: close_buffer */
	t->bufptr = (u64)tw_channel_slack(t->record->buffer);
	put_event(t, TW_EVENT_PARTIAL, &p, sizeof p, NULL, 0);
	tw_call_flush(t);
	tw_buffer_switch(t);
}

void tw_buffer_partial(struct thread *t, u64 start, const struct tw_recorded *f, u32 insns, bool in_rep)
{
	struct tw_partial p = {insns, in_rep, {0}};
	u8 record[TW_MAX_RECORD];
	u64 data_end = (u64)t->record->buffer + TW_BUFFER_BYTES, slack = (u64)tw_channel_slack(t->record->buffer);
	u32 need = (u32)(sizeof(struct tw_event_header) + sizeof p) + f->record_bytes;
	u64 have = start < data_end ? data_end - start : f->record_bytes;
	memset(record, 0, f->record_bytes);
	memcpy(record, (void *)start, have < f->record_bytes ? have : f->record_bytes);
	memcpy(record, &f->number, 2); /* a side exit may have put its own there */
	put_after(t, (u64)record + f->head, (u64)record + sizeof record, f, insns);
	memcpy(p.regs, t->regs, sizeof p.regs);
	if (t->record->tallied) {
		tw_buffer_tell(t, f, &p, record, f->record_bytes);
		t->bufptr = start;
		tw_buffer_reserve(t, TW_MAX_RECORD);
		return;
	}
	if (start + need > data_end) {
		t->bufptr = slack;
		put_slack_jump(t, start, slack);
	} else {
		t->bufptr = start;
	}
	put_event(t, TW_EVENT_PARTIAL, &p, sizeof p, NULL, 0);
	put(t, record, f->record_bytes);
	if (t->bufptr >= slack)
		tw_buffer_switch(t);
}

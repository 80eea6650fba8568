#include "engine/record/buffer.h"
#include "engine/record/charge.h"
#include "engine/record/cycles.h"
#include "engine/record/guard.h"
#include "engine/record/instrumentor.h"
#include "engine/record/pen.h"
#include "engine/record/program.h"
#include "engine/record/slot.h"
#include "engine/record/spare.h"
#include "engine/record/walk.h"
#include "engine/counts.h"
#include "engine/x86_64/glue.h"
#include <asm/unistd.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <linux/time.h>
#include <linux/time_types.h>

/* Data that has been in a buffer for so many cycles (about a tenth of a second) is old. More slots than MANY_SLOTS are a crowd. */
#define OLD_CYCLES (1ull << 28)
#define MANY_SLOTS 512u

static bool is_tagged(void)
{
	return tw_form_of(tw_recorder.whole->format) == TW_FORM_TAGGED;
}

bool tw_buffer_keeps(const struct thread *t, u16 event)
{
	bool detail = event == TW_EVENT_SYSCALL || event == TW_EVENT_SIGNAL || event == TW_EVENT_SIGRETURN || event == TW_EVENT_SEGBASE ||
	              event == TW_EVENT_UNMAP || event == TW_EVENT_CALL || event == TW_EVENT_RETURN;
	return !detail || !t->record->told_closed;
}

/* Appends an event where the thread writes now. */
static void event_here(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb)
{
	if (!tw_recorder.whole->records || !tw_buffer_keeps(t, type))
		return;
	if (t->record->walks)
		tw_walk_stop(t);
	tw_buffer_reserve(t, (u32)sizeof(struct tw_event_header) + na + nb + 3);
	tw_pen_event(t, type, a, na, b, nb);
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
	k.program = tw_program_serial();
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

void tw_buffer_note_written(struct thread *t)
{
	struct tw_slot *s = tw_slot_of(t);
	s->written += t->bufptr - (u64)t->record->buffer;
	s->keyframes += sizeof(struct tw_event_header) + sizeof(struct tw_keyframe);
}

void tw_buffer_open(struct thread *t, u8 *buffer)
{
	t->record->buffer = buffer;
	t->bufptr = (u64)buffer;
	t->record->opened = tw_tsc();
	put_keyframe(t);
}

void tw_buffer_close(struct thread *t)
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

/* Waits until the collector has given the buffer back; false if the collector is gone. */
static bool wait_empty(struct thread *t, struct tw_slot *s, u32 b)
{
	const struct __kernel_timespec pause = {0, 100000000};
	if (LOAD_ACQUIRE(&s->buffer[b].state) == TW_BUFFER_EMPTY)
		return true;
	const u64 began = tw_tsc();
	bool alive;
	while ((alive = tw_channel_collector_alive(tw_engine.control)) && LOAD_ACQUIRE(&s->buffer[b].state) != TW_BUFFER_EMPTY)
		tw_sys4(__NR_futex, &s->buffer[b].state, FUTEX_WAIT, TW_BUFFER_FULL, &pause);
	tw_count(TW_COUNT_WAITS, 1);
	tw_count_cycles(TW_COUNT_WAITING_CYCLES, began, tw_tsc());
	tw_charge_waited(t, tw_cycles_to_ns(tw_tsc() - began));
	return alive;
}

u64 tw_buffer_await(struct thread *t, u32 n, u64 most_ns)
{
	struct tw_slot *s = tw_slot_of(t);
	const u32 last = (s->current + n) % tw_sizes()->buffers;
	const u64 began = tw_cycles_clock(CLOCK_MONOTONIC);
	u64 now = began;
	while (now - began < most_ns && !t->has_deferred && LOAD_ACQUIRE(&s->buffer[last].state) != TW_BUFFER_EMPTY) {
		const u64 left = most_ns - (now - began);
		const struct __kernel_timespec pause = {(i64)(left / 1000000000), (i64)(left % 1000000000)};
		tw_sys4(__NR_futex, &s->buffer[last].state, FUTEX_WAIT, TW_BUFFER_FULL, &pause);
		now = tw_cycles_clock(CLOCK_MONOTONIC);
	}
	return now - began;
}

/* From here on, the thread overwrites one buffer of its slot again and again, and nobody reads it. */
static void stop_recording(struct thread *t)
{
	t->record->recording = false;
	tw_engine.control->failure = tw_engine.control->failure ? tw_engine.control->failure : TW_FAILURE_COLLECTOR;
}

bool tw_buffer_take(struct thread *t, u32 b)
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

void tw_buffer_take_spare(struct thread *t)
{
	t->record->buffer = tw_spare_buffer(t);
	t->record->recording = false;
	t->record->spare = true;
}

/*
 * A thread that has filled a buffer will fill the next one: one call brings in its pages, instead of a fault for
 * each. (Kernels without this call fault as before.) MADV_POPULATE_READ, since the kernel then maps many pages that
 * exist already (channel/drain.c) at a time; shared pages become writable too.
 */
static void make_ready(u8 *buffer)
{
	tw_sys(__NR_madvise, buffer, TW_BUFFER_BYTES, MADV_POPULATE_READ);
}

static void go_on_in_next(struct thread *t)
{
	if (t->record->walks)
		tw_walk_stop(t);
	if (!t->record->telling && !t->record->spare)
		tw_record_calls.buffer_done(t, t->record->buffer, /* not the guard page between data and slack */
		                            tw_pen_in_slack(t) ? t->record->slack_jump : t->bufptr);
	if (t->record->tallied && !t->record->telling) {
		tw_buffer_note_written(t);
	} else if (t->record->recording) {
		struct tw_slot *s = tw_slot_of(t);
		tw_buffer_close(t);
		u32 next = (s->current + 1) % tw_sizes()->buffers;
		const bool ready = t->record->usable >> next & 1, full = s->buffer[s->current].bytes > TW_BUFFER_BYTES / 2;
		if (!wait_empty(t, s, next)) {
			stop_recording(t);
		} else if (!tw_buffer_take(t, next)) {
			tw_buffer_take_spare(t);
		} else if (!ready && full) {
			make_ready(t->record->buffer);
		}
	}
	tw_buffer_open(t, t->record->buffer);
}

void tw_buffer_switch(struct thread *t)
{
	const u64 began = tw_charge_begin(t);
	tw_count(TW_COUNT_BUFFERS, 1);
	const u64 end = tw_pen_in_slack(t) ? t->record->slack_jump : t->bufptr;
	const u64 bytes = t->record->telling ? 0 : end - (u64)t->record->buffer;
	go_on_in_next(t);
	tw_charge_switched(t, bytes);
	tw_charge_end(t, began);
}

void tw_buffer_hand_over(struct thread *t, u64 now)
{
	const bool own = t->record->recording && !t->record->tallied && t->record->slot < MANY_SLOTS;
	const bool old = now - t->record->opened > OLD_CYCLES;
	if (own && old && t->bufptr > (u64)t->record->buffer + sizeof(struct tw_event_header) + sizeof(struct tw_keyframe))
		tw_buffer_switch(t);
}

void tw_buffer_reserve(struct thread *t, u32 bytes)
{
	if (!tw_pen_has_room(t, bytes))
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
		tw_pen_turn(t);
	event_here(t, type, a, na, b, nb);
	if (t->record->tallied)
		tw_pen_turn(t);
}

void tw_buffer_tell(struct thread *t, const struct tw_recorded *f, const struct tw_partial *p, const void *record, u32 bytes)
{
	if (!t->record->tallied)
		return;
	tw_pen_turn(t);
	tw_buffer_reserve(t, TW_ESCAPE_BYTES + (u32)(sizeof(struct tw_event_header) + sizeof *p) + bytes);
	tw_buffer_upper(t, f);
	if (p)
		tw_pen_event(t, TW_EVENT_PARTIAL, p, sizeof *p, NULL, 0);
	else
		tw_slot_of(t)->copied += bytes;
	tw_pen_put(t, record, bytes);
	tw_pen_turn(t);
}

void tw_buffer_untell(struct thread *t, u32 bytes)
{
	if (!t->record->tallied)
		return;
	tw_pen_turn(t);
	t->bufptr -= bytes;
	memset((void *)t->bufptr, 0, bytes);
	tw_slot_of(t)->copied -= bytes;
	tw_pen_turn(t);
}

void tw_buffer_upper(struct thread *t, const struct tw_recorded *f)
{
	if (!tw_instr()->records || tw_upper_fits(f, t->upper))
		return;
	tw_buffer_reserve(t, TW_ESCAPE_BYTES);
	u32 record = (u32)f->upper_in << 16 | (is_tagged() ? 0 : TW_TAG_UPPER);
	tw_pen_put(t, &record, TW_ESCAPE_BYTES);
	t->upper = f->upper_in;
}

bool tw_buffer_guard(const struct thread *t, u64 address)
{
	u64 guard = (u64)t->record->buffer + TW_BUFFER_BYTES;
	return address >= guard && address < guard + TW_PAGE;
}

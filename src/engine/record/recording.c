#include "engine/record/recording.h"
#include "engine/record/ask.h"
#include "engine/record/budget.h"
#include "engine/record/buffer.h"
#include "engine/record/instrumentor.h"
#include "engine/record/log.h"
#include "engine/record/pen.h"
#include "engine/record/slot.h"
#include "engine/record/spare.h"
#include "engine/record/tally.h"

/*
 * The thread has begun to write to its slot. Events go there from now on; records, which the thread counts itself, go
 * to a buffer of its own.
 */
static void begin_tally(struct thread *t)
{
	tw_pen_turn(t);
	t->upper = 0;
	tw_buffer_open(t, t->record->own);
	t->record->telling = false;
	t->record->tallied = true;
}

static void end_tally(struct thread *t)
{
	if (!t->record->tallied)
		return;
	tw_buffer_note_written(t);
	tw_pen_turn(t);
	t->record->tallied = t->record->telling = false;
}

/* Gets the buffers of a recorded thread. False: it cannot. */
static bool get_buffers(struct thread *t)
{
	t->record->usable = 0;
	if (!tw_buffer_take(t, 0))
		return false;
	if (!tw_tallies())
		return true;
	if (!tw_spare_own(t)) {
		tw_engine_fail(TW_FAILURE_CHANNEL, "no memory for a thread's buffer");
		return false;
	}
	if (!tw_tally_open(t)) {
		tw_engine_fail(TW_FAILURE_CHANNEL, "no memory to count executions in");
		return false;
	}
	return true;
}

/* The thread is not recorded. Nobody reads its counts; if it cannot count, it runs code that does not. */
static void be_spare(struct thread *t)
{
	tw_buffer_take_spare(t);
	if (!tw_tallies() || tw_tally_close(t))
		return;
	t->record->bare = true;
	t->record->window--; /* it does not go on by what it knows (tw_window_steady) */
}

void tw_recording_begin(struct thread *t, u32 parent_pid, u32 parent_tid)
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
	if (has_slot) {
		tw_slot_set_up(t, parent_pid);
		tw_ask_open(t);
	}
	if (!t->record->recording && records)
		be_spare(t);
	if (t->pid == t->tid)
		tw_spare_lend_mappings(false);
	if (records)
		tw_buffer_open(t, t->record->buffer);
	if (!t->record->recording)
		return;
	if (tw_tallies())
		begin_tally(t);
	struct tw_thread_start e = {t->pid, t->tid, parent_pid, parent_tid, tw_buffer_time(t)};
	tw_buffer_event(t, TW_EVENT_THREAD_START, &e, sizeof e, NULL, 0);
}

void tw_recording_end(struct thread *t, i32 status, u32 what)
{
	if (t->record->recording) {
		tw_budget_detach(t);
		tw_log_flush(t);
		struct tw_thread_end e = {status, what, tw_buffer_time(t)};
		tw_buffer_event(t, TW_EVENT_THREAD_END, &e, sizeof e, NULL, 0);
		end_tally(t);
		tw_buffer_close(t);
		t->record->recording = false;
	}
	tw_spare_disown(t);
	tw_ask_close(t);
	tw_slot_give_back(t);
}

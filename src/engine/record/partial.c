#include "engine/record/partial.h"
#include "engine/record/buffer.h"
#include "engine/record/guard.h"
#include "engine/record/log.h"
#include "engine/record/pen.h"

/* Writes the jump to the slack over a record's tag. If only two bytes of data are left, the guard page lends two. */
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

/* Stores values that the instruction just executed should have stored after it. `values`: the record's; none is written from `end` on. */
static void put_after(const struct thread *t, u64 values, u64 end, const struct tw_recorded *f, u32 insns)
{
	for (u16 k = 0; k < f->n_after; k++) {
		u64 at = values + 8u * f->after[k].slot;
		if (f->after[k].insn + 1u == insns && at + 8 <= end)
			memcpy((void *)at, &t->regs[f->after[k].reg], 8);
	}
}

void tw_partial_stop(struct thread *t, u64 values, u64 end, const struct tw_recorded *f, u32 insns, bool in_rep)
{
	const u32 first = tw_piece_of(f, insns)->first_insn;
	struct tw_partial p = {insns - first, in_rep, {0}};
	u64 data_end = (u64)t->record->buffer + TW_BUFFER_BYTES;
	end = end < data_end ? end : data_end;
	put_after(t, values, end, f, insns);
	memcpy(p.regs, t->regs, sizeof p.regs);
	t->record->slack_jump = end - 4; /* where the data ends is 4 behind this: tw_buffer_close */
	t->bufptr = (u64)tw_channel_slack(t->record->buffer);
	tw_pen_event(t, TW_EVENT_PARTIAL, &p, sizeof p, NULL, 0);
	tw_log_flush(t);
	tw_buffer_switch(t);
}

void tw_partial_put(struct thread *t, u64 start, const struct tw_recorded *f, u32 insns, bool in_rep)
{
	struct tw_partial p = {insns, in_rep, {0}};
	u8 record[TW_MAX_RECORD];
	u64 data_end = (u64)t->record->buffer + TW_BUFFER_BYTES, slack = (u64)tw_channel_slack(t->record->buffer);
	u32 need = (u32)(sizeof(struct tw_event_header) + sizeof p) + f->record_bytes;
	u64 have = start < data_end ? data_end - start : f->record_bytes;
	memset(record, 0, f->record_bytes);
	memcpy(record, (void *)start, have < f->record_bytes ? have : f->record_bytes);
	memcpy(record, &f->number, 2); /* a side exit may have tw_pen_put its own there */
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
	tw_pen_event(t, TW_EVENT_PARTIAL, &p, sizeof p, NULL, 0);
	tw_pen_put(t, record, f->record_bytes);
	if (t->bufptr >= slack)
		tw_buffer_switch(t);
}

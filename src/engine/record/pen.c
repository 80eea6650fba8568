#include "engine/record/pen.h"
#include "engine/record/instrumentor.h"

/* Bytes that can be written from C at thread.bufptr. */
static i64 room(const struct thread *t)
{
	u64 data_end = (u64)t->record->buffer + TW_BUFFER_BYTES, slack_end = (u64)tw_channel_slack(t->record->buffer) + TW_SLACK_BYTES;
	return (i64)((t->bufptr <= data_end ? data_end : slack_end) - t->bufptr);
}

void tw_pen_put(struct thread *t, const void *p, u32 n)
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

void tw_pen_event(struct thread *t, u16 type, const void *a, u32 na, const void *b, u32 nb)
{
	const u32 unit = tw_bits_recorded() ? 4 : 2; /* what lengths are a multiple of */
	struct tw_event_header h = {TW_TAG_EVENT, type, (na + nb + unit - 1) & ~(unit - 1)};
	/* The tag last: a reader that finds it finds the whole event. In the tagged form, an escape precedes it. */
	t->bufptr += tw_form_of(tw_recorder.whole->format) == TW_FORM_TAGGED ? 2 : 0;
	u64 at = t->bufptr;
	t->bufptr += 2;
	tw_pen_put(t, (u8 *)&h + 2, sizeof h - 2);
	tw_pen_put(t, a, na);
	tw_pen_put(t, b, nb);
	tw_pen_put(t, "\0\0", h.bytes - na - nb);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(volatile u16 *)at = TW_TAG_EVENT;
}

void tw_pen_turn(struct thread *t)
{
	struct tw_pen here = {t->record->buffer, t->bufptr, t->record->slack_jump, t->upper};
	t->record->buffer = t->record->other.buffer;
	t->bufptr = t->record->other.bufptr;
	t->record->slack_jump = t->record->other.slack_jump;
	t->upper = t->record->other.upper;
	t->record->other = here;
	t->record->telling = !t->record->telling;
}

void tw_pen_append(struct thread *t, const void *p, u32 n)
{
	u64 slack = (u64)tw_channel_slack(t->record->buffer);
	if (room(t) < (i64)n && t->bufptr < slack) {
		t->record->slack_jump = t->bufptr - 4; /* where the data ends is 4 behind this: tw_buffer_close */
		t->bufptr = slack;
	}
	tw_pen_put(t, p, n);
}

bool tw_pen_in_slack(const struct thread *t)
{
	return t->bufptr >= (u64)tw_channel_slack(t->record->buffer);
}

bool tw_pen_has_room(const struct thread *t, u32 bytes)
{
	return room(t) >= (i64)bytes;
}

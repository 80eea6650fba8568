/* What is written of a buffer of another form, in the plain one. */
#include "channel/expand_state.h"

int tw_expand_room(const struct tw_expand *x)
{
	size_t most = x->logged ? TW_EXPAND_LOGGED : TW_EXPAND_MARGIN;
	return (size_t)(x->to - x->piece[x->turn]) + x->slack_bytes + most <= TW_BUFFER_BYTES;
}

static void put(struct tw_expand *x, const void *p, size_t n)
{
	memcpy(x->to, p, n);
	x->to += n;
}

void tw_expand_put_number(struct tw_expand *x, const struct tw_unit *u)
{
	uint32_t number = u->descriptor->number;
	if (number >> 16 != x->to_upper) {
		uint16_t upper[2] = {TW_TAG_UPPER, (uint16_t)(number >> 16)};
		put(x, upper, sizeof upper);
		x->to_upper = number >> 16;
	}
	uint16_t tag = (uint16_t)number;
	put(x, &tag, sizeof tag);
}

const struct tw_event_header *tw_expand_event(const uint8_t *p, const uint8_t *end, struct tw_event_header *head)
{
	size_t left = (size_t)(end - p);
	if (left < sizeof *head)
		return NULL;
	memcpy(head, p, sizeof *head);
	return tw_event_valid(head, p + sizeof *head, left - sizeof *head) ? head : NULL;
}

void tw_expand_put_keyframe(struct tw_expand *x, const struct tw_keyframe *k)
{
	const struct tw_event_header h = {TW_TAG_EVENT, TW_EVENT_KEYFRAME, sizeof *k};
	struct tw_keyframe plain = *k;
	plain.upper = x->to_upper;
	plain.program = 0;
	put(x, &h, sizeof h);
	put(x, &plain, sizeof plain);
}

/* What a keyframe says of the buffer. */
static void take_keyframe(struct tw_expand *x, const struct tw_keyframe *k)
{
	x->upper = k->upper;
	x->program = k->program;
	x->updated = UINT16_MAX;
	x->keyframe = *k;
	memset(x->keyframe.regs, 0, sizeof x->keyframe.regs);
	x->has_keyframe = 1;
}

/* Keyframes that are put in do not go back in time. */
static void note_time(struct tw_expand *x, const struct tw_event_header *h, const uint8_t *payload)
{
	uint64_t copy[64] = {0};
	memcpy(copy, payload, h->bytes < sizeof copy ? h->bytes : sizeof copy);
	uint64_t time = tw_event_time(h->type, copy);
	if (time > x->keyframe.tsc)
		x->keyframe.tsc = time;
}

void tw_expand_put_event(struct tw_expand *x, const struct tw_event_header *h, const uint8_t *p)
{
	if (h->type == TW_EVENT_KEYFRAME) {
		struct tw_keyframe k;
		memcpy(&k, p + sizeof *h, sizeof k);
		take_keyframe(x, &k);
		tw_expand_put_keyframe(x, &k);
		return;
	}
	if (h->type == TW_EVENT_SEGBASE) {
		struct tw_segbase s;
		memcpy(&s, p + sizeof *h, sizeof s);
		if (s.seg < TW_NSEGS)
			x->keyframe.seg_base[s.seg] = s.base;
	}
	note_time(x, h, p + sizeof *h);
	put(x, p, sizeof *h + h->bytes);
}

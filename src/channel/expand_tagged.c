/* The tagged form: formats dep06 and dep06-c. */
#include "channel/expand_forms.h"
#include "channel/expand_units.h"

/*
 * Writes a record's values, from x->p on, at x->to. If they end with the data, the rest is 0, except for those stored
 * after an instruction, which `partial`, if not NULL, has. Returns how many were missing.
 */
static unsigned put_values(struct tw_expand *x, const struct tw_unit *u, const struct tw_partial *partial)
{
	unsigned missing = 0;
	const struct tw_value_step *s = u->step;
	for (;; s++) {
		x->updated |= s->written;
		if (s->kind == TW_VALUE_END)
			return missing;
		uint64_t v = 0;
		if (s->kind == TW_VALUE_TESTED && !(x->updated >> s->reg & 1)) {
			v = x->value[s->reg];
		} else if (!missing && x->end - x->p >= 8) {
			memcpy(&v, x->p, 8);
			x->p += 8;
		} else {
			missing++;
			if (partial && s->kind == TW_VALUE_AFTER)
				v = partial->regs[s->reg];
		}
		if (s->kind == TW_VALUE_TESTED) {
			x->value[s->reg] = v;
			x->updated &= (uint16_t) ~(1u << s->reg);
		}
		memcpy(x->to, &v, 8);
		x->to += 8;
	}
}

/* Everything that the slack holds: events. */
static int put_slack(struct tw_expand *x, const uint8_t *p, const uint8_t *end)
{
	struct tw_event_header h;
	while (end - p >= 2) {
		if (tw_get16(p) || !tw_expand_event(p + 2, end, &h))
			return tw_fail(TW_ERR_STREAM, "what stands in the slack of a buffer");
		tw_expand_put_event(x, &h, p + 2);
		p += 2 + sizeof h + h.bytes;
	}
	return 0;
}

/* The record at `start`, whose values start at x->p, ends the buffer: it stopped early, as the slack says. */
static int put_stopped(struct tw_expand *x, const struct tw_unit *u)
{
	const uint8_t *end = x->slack + x->slack_bytes;
	struct tw_event_header h;
	struct tw_partial partial;
	if (x->slack_bytes < 2 || tw_get16(x->slack) || !tw_expand_event(x->slack + 2, end, &h) || h.type != TW_EVENT_PARTIAL)
		return tw_fail(TW_ERR_STREAM, "a block that ends with its buffer");
	memcpy(&partial, x->slack + 2 + sizeof h, sizeof partial);
	tw_expand_put_event(x, &h, x->slack + 2);
	tw_expand_put_number(x, u);
	put_values(x, u, &partial);
	x->p = x->end;
	return put_slack(x, x->slack + 2 + sizeof h + h.bytes, end);
}

/*
 * Is the record just read the last one of a torn buffer, and possibly not whole? It may be if its last value is 0,
 * which may mean not written yet, or if its references are still to come.
 */
static int is_doubtful(const struct tw_expand *x, const uint8_t *values)
{
	uint64_t last = 1;
	if (x->end - x->p >= 4 && (tw_get16(x->p) || tw_get16(x->p + 2)))
		return 0;
	if (x->p > values)
		memcpy(&last, x->p - 8, 8);
	return x->logged || !last;
}

/* The block with this tag ran; its values begin at x->p. */
static int put_block(struct tw_expand *x, uint32_t tag)
{
	const struct tw_unit *u = tw_expand_unit(x, tag);
	const uint8_t *values = x->p;
	uint8_t *to = x->to;
	uint16_t updated = x->updated;
	uint64_t value[TW_NREGS];
	if (!u)
		return tw_fail(TW_ERR_FRAGMENT, "block with tag %x", tag);
	int near_end = x->end - values < (ptrdiff_t)(8u * u->descriptor->n_values + 4u);
	if (near_end)
		memcpy(value, x->value, sizeof value);
	tw_expand_put_number(x, u);
	unsigned missing = put_values(x, u, NULL);
	if (x->torn && (missing || is_doubtful(x, values))) {
		x->to = to;
		x->p = x->end;
		return 0;
	}
	if (!near_end || (!missing && !(x->p == x->end && x->slack_bytes)))
		return 1;
	x->to = to;
	x->to_upper = UINT32_MAX; /* written again, to be sure */
	x->p = values;
	x->updated = updated;
	memcpy(x->value, value, sizeof value);
	return put_stopped(x, u);
}

/* What follows a 0. Returns 1 to go on, 0 at the end, or an error. */
static int put_escape(struct tw_expand *x)
{
	struct tw_event_header h;
	uint16_t what = x->end - x->p >= TW_ESCAPE_BYTES ? tw_get16(x->p + 2) : TW_ESCAPE_NONE;
	if (what >= TW_ESCAPE_FIRST) {
		x->upper = what;
		x->p += TW_ESCAPE_BYTES;
		return 1;
	}
	if (what == TW_ESCAPE_ZERO && x->end - x->p >= TW_ZERO_BYTES && tw_get16(x->p + 4)) {
		x->upper = tw_get16(x->p + 4);
		x->p += TW_ZERO_BYTES;
		return put_block(x, x->upper << 16);
	}
	if (what == TW_ESCAPE_EVENT && tw_expand_event(x->p + 2, x->end, &h)) {
		tw_expand_put_event(x, &h, x->p + 2);
		x->p += 2 + sizeof h + h.bytes;
		return 1;
	}
	return what == TW_ESCAPE_NONE || x->torn ? 0 : tw_fail(TW_ERR_STREAM, "an escape of %u", what);
}

/* REFS events belong to the block before them. */
static int event_follows(const struct tw_expand *x)
{
	struct tw_event_header h;
	return x->logged && x->end - x->p >= 4 && !tw_get16(x->p) && tw_get16(x->p + 2) == TW_ESCAPE_EVENT &&
	       tw_expand_event(x->p + 2, x->end, &h) && h.type == TW_EVENT_REFS;
}

/* How many of 16 bits are set. */
static unsigned count_bits(unsigned v)
{
	static const uint8_t bits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
	return bits[v & 15] + bits[v >> 4 & 15] + bits[v >> 8 & 15] + bits[v >> 12];
}

/* Counts blocks that need no care, as long as they come and the end is not near. Uses only the lengths of their records. */
static void count_blocks(struct tw_expand *x)
{
	const uint8_t *p = x->p;
	uint16_t updated = x->updated, tag;
	while (x->end - p > (ptrdiff_t)TW_MAX_RECORD && (tag = tw_get16(p))) {
		struct tw_unit *u = tw_expand_unit(x, x->upper << 16 | tag);
		if (!u || u->dynamic)
			break;
		unsigned n = u->n_placed;
		for (unsigned i = 0; i < u->n_spans; i++) {
			updated |= u->span[i].written;
			n += count_bits(updated & u->span[i].tested);
			updated &= (uint16_t)~u->span[i].tested;
		}
		u->ran++;
		p += 2 + 8 * n;
	}
	x->p = p;
	x->updated = updated;
}

int tw_expand_tagged(struct tw_expand *x)
{
	while (x->end - x->p >= 2) {
		if (x->count_only && !x->torn)
			count_blocks(x);
		uint16_t tag = tw_get16(x->p);
		if (!tw_expand_room(x) && !event_follows(x))
			return 1;
		int more;
		if (tag) {
			x->p += 2;
			more = put_block(x, x->upper << 16 | tag);
		} else {
			more = put_escape(x);
		}
		if (more <= 0)
			return more;
	}
	return 0;
}

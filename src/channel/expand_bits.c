/* The form of bits: format cf_bit. */
#include "channel/expand_forms.h"
#include "channel/expand_units.h"

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return v;
}

/* Are there n more bytes? What no longer had room in the data is in the slack. */
static int have(struct tw_expand *x, size_t n)
{
	if (x->p == x->end && x->slack_bytes && x->end == x->data_end) {
		x->p = x->slack;
		x->end = x->slack + x->slack_bytes;
	}
	return (size_t)(x->end - x->p) >= n;
}

/* Takes the next group of bits. */
static int take_group(struct tw_expand *x)
{
	if (!have(x, TW_GROUP_BYTES))
		return x->torn ? 0 : tw_fail(TW_ERR_STREAM, "no place for bits");
	x->group = get32(x->p);
	x->n_bits = x->group ? 31 - (unsigned)__builtin_clz(x->group) : 0;
	x->complete = x->n_bits == TW_GROUP_BITS;
	x->p += TW_GROUP_BYTES;
	return 1;
}

/* The walk goes on at this block. */
static int go_on(struct tw_expand *x, const struct tw_unit *u, uint64_t pc)
{
	x->unit = u;
	x->pc = pc;
	x->confirmed = x->to;
	return 1;
}

/* Stands the walk at a STOP mark, with all bits used? */
static int at_stop(struct tw_expand *x)
{
	return !x->n_bits && have(x, 16) && get32(x->p) == TW_MARK_STOP;
}

static int stop(struct tw_expand *x)
{
	x->p += 16;
	x->walks = 0;
	x->confirmed = x->to;
	return 1;
}

/* Nothing is left of what the block just walked wants: the buffer's end if it is torn, else a STOP that says so. */
static int want(struct tw_expand *x)
{
	uint64_t pc;
	if (at_stop(x)) {
		memcpy(&pc, x->p + 8, 8);
		if (!pc)
			return stop(x);
	}
	return x->torn ? 0 : tw_fail(TW_ERR_STREAM, "no bit or target after block at %llx", (unsigned long long)x->pc);
}

/* A conditional branch, or a block that ticks (*bit then has no meaning). Returns 2 if it has a bit. */
static int take_bit(struct tw_expand *x, unsigned *bit)
{
	if (!x->n_bits)
		return want(x);
	*bit = x->group >> --x->n_bits & 1;
	if (x->n_bits || !x->complete)
		return 2;
	int more = take_group(x);
	return more > 0 ? 2 : more;
}

static int take_target(struct tw_expand *x)
{
	uint32_t tag = have(x, 4) ? get32(x->p) : 0;
	if (tag < (uint32_t)TW_ESCAPE_FIRST << 16)
		return want(x);
	x->p += 4;
	const struct tw_unit *u = tw_expand_unit(x, tag);
	return u ? go_on(x, u, tw_descriptor_blocks(u->descriptor)->pc) : tw_fail(TW_ERR_FRAGMENT, "block with tag %x", tag);
}

/* Goes on where the block leads. */
static int leave(struct tw_expand *x, const struct tw_descriptor *d)
{
	const struct tw_block *b = tw_descriptor_blocks(d);
	uint64_t next = b->pc + b->bytes;
	unsigned bit = 0;
	if (b->end == TW_END_RETURN || b->end == TW_END_IJUMP || b->end == TW_END_ICALL)
		return take_target(x);
	if (b->end == TW_END_COND || d->flags & TW_DESC_TICK) {
		int more = take_bit(x, &bit);
		if (more != 2)
			return more;
		x->confirmed = x->to;
	}
	int jumps = b->end == TW_END_JUMP || b->end == TW_END_CALL || (b->end == TW_END_COND && bit);
	x->unit = NULL;
	x->pc = jumps ? b->target : next;
	return 1;
}

/* One block of the walk. */
static int step(struct tw_expand *x)
{
	uint64_t pc;
	if (at_stop(x)) {
		memcpy(&pc, x->p + 8, 8);
		if (pc == x->pc)
			return stop(x);
	}
	const struct tw_unit *u = x->unit ? x->unit : tw_expand_unit_at(x, x->pc);
	if (!u)
		return x->torn ? 0 : tw_fail(TW_ERR_FRAGMENT, "block at %llx", (unsigned long long)x->pc);
	tw_expand_put_number(x, u);
	return leave(x, u->descriptor);
}

/* A START or BLOCK mark: the block it names. */
static int take_mark(struct tw_expand *x, uint32_t mark)
{
	if (!have(x, 8))
		return x->torn ? 0 : tw_fail(TW_ERR_STREAM, "a mark at the end of a buffer");
	const struct tw_unit *u = tw_expand_unit(x, get32(x->p + 4));
	if (!u)
		return x->torn ? 0 : tw_fail(TW_ERR_FRAGMENT, "block with tag %x", get32(x->p + 4));
	x->p += 8;
	if (mark == TW_MARK_BLOCK) {
		tw_expand_put_number(x, u);
		x->confirmed = x->to;
		return 1;
	}
	x->walks = 1;
	go_on(x, u, tw_descriptor_blocks(u->descriptor)->pc);
	return take_group(x);
}

/* What stands between walks. */
static int stand(struct tw_expand *x)
{
	struct tw_event_header h;
	if (!have(x, 4))
		return 0;
	uint32_t mark = get32(x->p);
	if (mark == TW_MARK_NONE)
		return 0;
	if (mark == TW_MARK_START || mark == TW_MARK_BLOCK)
		return take_mark(x, mark);
	if ((uint16_t)mark != TW_TAG_EVENT || !tw_expand_event(x->p, x->end, &h))
		return x->torn ? 0 : tw_fail(TW_ERR_STREAM, "a mark of %x", mark);
	tw_expand_put_event(x, &h, x->p);
	x->p += sizeof h + h.bytes;
	if (h.type != TW_EVENT_PARTIAL) /* which goes with the block that follows */
		x->confirmed = x->to;
	return 1;
}

int tw_expand_bits(struct tw_expand *x)
{
	int more = 1;
	x->confirmed = x->to;
	while (more > 0) {
		if (!tw_expand_room(x))
			return 1;
		more = x->walks ? step(x) : stand(x);
	}
	if (x->torn)
		x->to = x->confirmed;
	return more;
}
